// SPDX-License-Identifier: MIT
#pragma once

#include "chain/mempool_transaction.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

namespace blockpub {

/// Transactions whose parents are not known: they wait here for them, the oldest ones leave when there are
/// too many. Thread safety: one thread at a time. Blocking: never. Units: bytes, with witness.
class OrphanPool {
 public:
    struct Limits {
        std::size_t count = 100;
        std::size_t bytes_of_one = 100'000;
    };
    struct Orphan {
        TransactionRef transaction;
        std::uint32_t peer = 0;  ///< that sent it
    };
    explicit OrphanPool(const Limits& limits) : limits_(limits) {}

    /// False for one that is there, or is too large.
    bool add(const TransactionRef& transaction, std::uint32_t peer);
    /// Takes out what spends outputs of `parent`.
    [[nodiscard]] std::vector<Orphan> take_children(const Txid& parent);
    [[nodiscard]] std::vector<Orphan> take_all();
    /// Takes out what `peer` sent.
    void forget(std::uint32_t peer);
    [[nodiscard]] bool contains(const Wtxid& wtxid) const { return orphans_.contains(wtxid); }
    [[nodiscard]] std::size_t size() const { return orphans_.size(); }

 private:
    [[nodiscard]] std::optional<Orphan> take(const Wtxid& wtxid);

    const Limits limits_;
    std::unordered_map<Wtxid, Orphan> orphans_;
    std::unordered_multimap<Txid, Wtxid> children_;  // of the parents
    std::deque<Wtxid> by_age_;  // oldest first; those that have left are passed over when met
};

}  // namespace blockpub
