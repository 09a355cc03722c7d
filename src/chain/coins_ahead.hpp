// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/coin.hpp"
#include "store/coin_store.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/hash.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <thread>

namespace blockpub {

/// The coins that a block spends, looked for on a thread of its own while the block is still being checked:
/// among millions of coins each look-up waits for memory several times.
///
/// It goes from the last input to the first, so that who connects the block, and looks from the first on,
/// meets it halfway. Thread safety: `take` from one thread at a time. Ownership: keeps the bytes alive;
/// borrows the store. Blocking: `take` never; the destructor waits for the look-up under way.
class CoinsAhead {
 public:
    /// Begins at once.
    CoinsAhead(SharedBytes raw, const CoinStore& coins);
    ~CoinsAhead();
    CoinsAhead(const CoinsAhead&) = delete;
    CoinsAhead& operator=(const CoinsAhead&) = delete;

    [[nodiscard]] const SharedBytes& raw() const { return raw_; }
    /// The coin that the block's input number `input` spends, the coinbase's not counted, among those of
    /// `parent`; once. Nothing where it is not known (yet): it must be looked for.
    [[nodiscard]] std::optional<Coin> take(std::size_t input, const BlockHash& parent);
    /// No more will be taken: the rest need not be looked for.
    void end() noexcept { ended_ = true; }

 private:
    struct Slot {
        std::optional<Coin> coin;
        std::atomic<bool> ready = false;
    };
    void run(const CoinStore& coins);

    const SharedBytes raw_;
    // The thread's until `begun_`; constant from then on but for the slots, each the thread's until it is
    // ready.
    std::unique_ptr<Slot[]> slots_;
    std::size_t count_ = 0;
    BlockHash tip_;
    std::atomic<bool> begun_ = false;

    std::atomic<bool> ended_ = false;
    std::jthread thread_;  // last: its function uses the members above
};

}  // namespace blockpub
