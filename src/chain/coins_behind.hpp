// SPDX-License-Identifier: MIT
#pragma once

#include "chain/chain_state.hpp"
#include "chain/coins_engine.hpp"
#include "primitives/block.hpp"

#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace blockpub {

/// A coins engine that the chain may be ahead of: its coins are then those of a block further down, and are
/// brought to the tip block by block. Blocks are connected and disconnected without coins meanwhile, and held
/// against their rules later.
///
/// Thread safety: as CoinsEngine.
/// Ownership: borrows the engine, and the nodes.
class CoinsBehind final : public CoinsEngine {
 public:
    explicit CoinsBehind(CoinsEngine& coins) : coins_(coins) {}

    /// From here on the chain is ahead; `at`: the block whose coins there are, in the active chain; null:
    /// there are none.
    void fall_behind(HeaderNode* at) {
        behind_ = true;
        at_ = at;
    }
    [[nodiscard]] bool behind() const { return behind_; }
    /// Whose coins there are, while behind.
    [[nodiscard]] Height height() const { return at_ == nullptr ? Height{0} : at_->height; }
    /// The next block of the active chain to make coins of, if it is here; null: none is.
    [[nodiscard]] HeaderNode* next(const ActiveChain& active) const;
    /// Makes the coins of the block that `next` gave, and of the tip as many as there are then. Errors: as
    /// connect_coins_of.
    [[nodiscard]] Result<void> connect_next(ChainState& state, HeaderNode& node, Store& store);

    [[nodiscard]] Result<Connected> connect(BlockInChain& block) override;
    [[nodiscard]] Result<void> disconnect(BlockInChain& block) override;
    [[nodiscard]] std::shared_ptr<CoinsAhead> look_ahead(const SharedBytes& raw) override {
        return coins_.look_ahead(raw);
    }
    [[nodiscard]] Result<std::string> test(BlockInChain& block) override;
    void show(const Tip& tip) override;
    void committed() override { coins_.committed(); }
    bool settle() override { return coins_.settle(); }
    [[nodiscard]] bool commit_due() const override { return coins_.commit_due(); }
    [[nodiscard]] Result<void> flush() override { return coins_.flush(); }
    void withhold(std::string reason) override { coins_.withhold(std::move(reason)); }
    [[nodiscard]] std::optional<Tip> stored_tip() const override { return coins_.stored_tip(); }

 private:
    CoinsEngine& coins_;
    bool behind_ = false;
    HeaderNode* at_ = nullptr;  // while behind
};

}  // namespace blockpub
