// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/coin.hpp"
#include "primitives/outpoint_index.hpp"
#include "store/coin_store.hpp"

#include <blockpub/result.hpp>

#include <optional>
#include <vector>

namespace blockpub {

/// The coins as one block finds and changes them: a private layer over the coin store, kept only when the
/// block proves valid. Thread safety: chain thread only. Ownership: borrows the store.
class BlockCoins {
 public:
    explicit BlockCoins(const CoinStore& below) : below_(below) {}
    BlockCoins(const BlockCoins&) = delete;
    BlockCoins& operator=(const BlockCoins&) = delete;

    /// The coins as they are without what has been done here.
    [[nodiscard]] BlockCoins unchanged() const { return BlockCoins(below_); }
    /// Makes room for so many outpoints at once.
    void reserve(std::size_t count) {
        entries_.reserve(count);
        index_.reserve(count);
    }

    /// The coin, or null when it is not there. Valid until the next call. Errors: corrupt, io.
    [[nodiscard]] Result<const Coin*> find(const Outpoint& outpoint);
    /// Takes a coin away. Requires: find has just given it.
    [[nodiscard]] Coin spend(const Outpoint& outpoint);
    /// Makes a coin, or puts one back, in place of one that may be there. `known_new`: nothing below has it.
    void add(const Outpoint& outpoint, Coin coin, bool known_new);
    /// All that differs from below; the object is used up.
    [[nodiscard]] std::vector<CoinChange> take_changes();

 private:
    struct Entry {
        Outpoint outpoint;
        std::optional<Coin> coin;
        bool changed = false;
        bool below_may_have = true;  ///< false: known not to exist in the store
    };
    /// Null when nothing is known of the outpoint.
    [[nodiscard]] Entry* entry_of(const Outpoint& outpoint);
    Entry& add_entry(const Outpoint& outpoint);

    const CoinStore& below_;
    std::vector<Entry> entries_;  // in the order in which they were asked for
    OutpointIndex index_;         // to positions in entries_
};

}  // namespace blockpub
