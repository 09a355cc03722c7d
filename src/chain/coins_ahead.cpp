// SPDX-License-Identifier: MIT
#include "chain/coins_ahead.hpp"

#include "base/thread.hpp"
#include "primitives/block.hpp"

#include <system_error>
#include <utility>
#include <vector>

namespace blockpub {

CoinsAhead::CoinsAhead(SharedBytes raw, const CoinStore& coins) : raw_(std::move(raw)) {
    try {
        thread_ = start_thread("coins-ahead", [this, &coins](const std::stop_token&) { run(coins); });
    } catch (const std::system_error&) {
        // No thread is to be had: who connects the block looks for its coins.
    }
}

CoinsAhead::~CoinsAhead() {
    end();
}

void CoinsAhead::run(const CoinStore& coins) {
    std::vector<Outpoint> prevouts;
    const auto walked =
        for_each_transaction(raw_.bytes(), [&](std::size_t position, const TransactionView& transaction) {
            if (position == 0) return;
            transaction.for_each_input([&](std::size_t, const TxInput& input) {
                prevouts.push_back(input.prevout);
                return true;
            });
        });
    const auto snapshot = coins.snapshot();
    if (!walked || !snapshot) return;
    slots_ = std::make_unique<Slot[]>(prevouts.size());
    count_ = prevouts.size();
    tip_ = snapshot->tip().hash;
    begun_.store(true, std::memory_order_release);
    for (std::size_t i = count_; i-- > 0 && !ended_.load(std::memory_order_relaxed);) {
        // A failure, too, leaves it to who connects the block.
        if (auto coin = snapshot->find(prevouts[i])) slots_[i].coin = std::move(*coin);
        slots_[i].ready.store(true, std::memory_order_release);
    }
}

std::optional<Coin> CoinsAhead::take(std::size_t input, const BlockHash& parent) {
    if (!begun_.load(std::memory_order_acquire) || input >= count_ || tip_ != parent) return std::nullopt;
    Slot& slot = slots_[input];
    if (!slot.ready.load(std::memory_order_acquire)) return std::nullopt;
    return std::exchange(slot.coin, std::nullopt);
}

}  // namespace blockpub
