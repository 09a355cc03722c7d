// SPDX-License-Identifier: MIT
#include "chain/coins_behind.hpp"

#include "chain/coins_catch_up.hpp"

namespace blockpub {

HeaderNode* CoinsBehind::next(const ActiveChain& active) const {
    const Height height = at_ == nullptr ? Height{0} : at_->height.next();
    if (!behind_ || height > active.tip()->height) return nullptr;
    HeaderNode& node = active.at(height);
    return node.block.present() ? &node : nullptr;
}

Result<void> CoinsBehind::connect_next(ChainState& state, HeaderNode& node, Store& store) {
    if (auto connected = connect_coins_of(state, node, coins_, store); !connected) return connected;
    at_ = &node;
    behind_ = state.active().tip() != &node;
    return {};
}

Result<CoinsEngine::Connected> CoinsBehind::connect(BlockInChain& block) {
    if (behind_) return Connected{};
    return coins_.connect(block);
}

Result<void> CoinsBehind::disconnect(BlockInChain& block) {
    if (!behind_) return coins_.disconnect(block);
    if (at_ == nullptr || at_->hash != block.hash()) return {};
    auto undone = coins_.disconnect(block);
    if (undone) at_ = at_->previous;
    return undone;
}

Result<std::string> CoinsBehind::test(BlockInChain& block) {
    if (behind_) return std::string();
    return coins_.test(block);
}

void CoinsBehind::show(const Tip& tip) {
    if (!behind_) {
        coins_.show(tip);
    } else if (at_ != nullptr) {
        coins_.show({.hash = at_->hash, .height = at_->height});
    }
}

}  // namespace blockpub
