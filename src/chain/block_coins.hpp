// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/coin.hpp"
#include "primitives/outpoint_index.hpp"
#include "store/coin_store.hpp"

#include <blockpub/result.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace blockpub {

/// The coins as one block finds and changes them: a private layer over the coin store, kept only when the
/// block proves valid. Thread safety: chain thread only. Ownership: borrows the store.
class BlockCoins {
 public:
    /// `room`: empty, with memory that is used for the changes.
    explicit BlockCoins(const CoinStore& below, std::vector<CoinChange> room = {})
        : below_(below), entries_(std::move(room)) {}
    BlockCoins(const BlockCoins&) = delete;
    BlockCoins& operator=(const BlockCoins&) = delete;

    /// The coins as they are without what has been done here.
    [[nodiscard]] BlockCoins unchanged() const { return BlockCoins(below_); }
    /// Makes room for so many outpoints at once.
    void reserve(std::size_t count) {
        entries_.reserve(count);
        changed_.reserve(count);
        index_.reserve(count);
    }

    /// The coin, or null when it is not there. Valid until the next call. Errors: corrupt, io.
    [[nodiscard]] Result<const Coin*> find(const Outpoint& outpoint);
    /// Takes a coin away; nothing when it is not there. `known`: what the store has, where that has been
    /// looked up. Errors: as find.
    [[nodiscard]] Result<std::optional<Coin>> spend(const Outpoint& outpoint,
                                                    std::optional<Coin> known = std::nullopt);
    /// Makes a coin, or puts one back, in place of one that may be there. `known_new`: nothing below has it.
    void add(const Outpoint& outpoint, Coin coin, bool known_new);
    /// All that differs from below; the object is used up.
    [[nodiscard]] std::vector<CoinChange> take_changes();

 private:
    /// Position of what is known of the outpoint, looked for below when it is asked for first.
    [[nodiscard]] Result<std::size_t> position_of(const Outpoint& outpoint,
                                                  std::optional<Coin> known = std::nullopt);
    std::size_t add_entry(const Outpoint& outpoint);
    [[nodiscard]] auto outpoint_at() const {
        return [this](std::uint32_t i) -> const Outpoint& { return entries_[i].outpoint; };
    }

    const CoinStore& below_;
    // In the order in which they were asked for, as they are handed on: `fresh` once it is known that nothing
    // below has the coin.
    std::vector<CoinChange> entries_;
    std::vector<bool> changed_;  // which of them
    OutpointIndex index_;        // to positions in entries_
};

}  // namespace blockpub
