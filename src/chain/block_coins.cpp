// SPDX-License-Identifier: MIT
#include "chain/block_coins.hpp"

#include "base/check.hpp"

#include <utility>

namespace blockpub {

Result<const Coin*> BlockCoins::find(const Outpoint& outpoint) {
    const auto [found, inserted] = entries_.try_emplace(outpoint);
    Entry& entry = found->second;
    if (inserted) {
        auto coin = below_.find(outpoint);
        if (coin) {
            entry.coin = std::move(*coin);
        } else if (coin.error().code == Errc::not_found) {
            entry.below_may_have = false;
        } else {
            entries_.erase(found);
            return forward_error(coin);
        }
    }
    return entry.coin ? &*entry.coin : nullptr;
}

Coin BlockCoins::spend(const Outpoint& outpoint) {
    Entry& entry = entries_.at(outpoint);
    BLOCKPUB_CHECK(entry.coin.has_value(), "{}:{}", outpoint.txid.display_hex(), outpoint.position);
    Coin coin = std::move(*entry.coin);
    entry.coin.reset();
    entry.changed = true;
    return coin;
}

void BlockCoins::add(const Outpoint& outpoint, Coin coin, bool known_new) {
    const auto [found, inserted] = entries_.try_emplace(outpoint);
    Entry& entry = found->second;
    if (inserted && known_new) entry.below_may_have = false;
    entry.coin = std::move(coin);
    entry.changed = true;
}

std::vector<CoinChange> BlockCoins::take_changes() {
    std::vector<CoinChange> changes;
    changes.reserve(entries_.size());
    for (auto& [outpoint, entry] : entries_) {
        if (!entry.changed) continue;
        if (!entry.coin && !entry.below_may_have) continue;  // made and spent within the block
        changes.push_back(
            {.outpoint = outpoint, .coin = std::move(entry.coin), .fresh = !entry.below_may_have});
    }
    entries_.clear();
    return changes;
}

}  // namespace blockpub
