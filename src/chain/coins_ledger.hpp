// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "base/side_thread.hpp"
#include "chain/coins_ahead.hpp"
#include "chain/coins_engine.hpp"
#include "primitives/chain_params.hpp"
#include "store/coin_store.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace blockpub {

/// The full account of coins: what every block spends and makes, with all rules that need no scripts.
///
/// Thread safety: as CoinsEngine.
/// Ownership: borrows the parameters and the coin store.
/// Blocking: `connect` and `disconnect` wait for a flush under way while the coin store's budget is full.
/// Errors: disk_full from them when flushes fail.
class CoinsLedger final : public CoinsEngine {
 public:
    CoinsLedger(const ChainParams& params, CoinStore& coins) : params_(params), coins_(coins) {}

    [[nodiscard]] Result<Connected> connect(BlockInChain& block) override;
    [[nodiscard]] Result<void> disconnect(BlockInChain& block) override;
    [[nodiscard]] std::shared_ptr<CoinsAhead> look_ahead(const SharedBytes& raw) override
        BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] Result<std::string> test(BlockInChain& block) override;
    void show(const Tip& tip) override { coins_.publish(tip); }
    void committed() override { coins_.committed(); }
    bool settle() override;
    [[nodiscard]] bool commit_due() const override { return coins_.flush_due(); }
    [[nodiscard]] Result<void> flush() override { return coins_.flush(); }
    void withhold(std::string reason) override { coins_.withhold(std::move(reason)); }
    [[nodiscard]] std::optional<Tip> stored_tip() const override;

 private:
    [[nodiscard]] std::shared_ptr<CoinsAhead> ahead_of(const SharedBytes& raw) BLOCKPUB_EXCLUDES(mutex_);

    // Constant after construction.
    const ChainParams& params_;
    CoinStore& coins_;

    // Chain thread only.
    std::vector<CoinChange> room_;  // for the changes of the next block
    SideThread side_{"coins-side"};

    Mutex mutex_;
    std::vector<std::weak_ptr<CoinsAhead>> ahead_ BLOCKPUB_GUARDED_BY(mutex_);
};

}  // namespace blockpub
