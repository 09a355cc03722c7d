// SPDX-License-Identifier: MIT
#pragma once

#include "chain/mempool_transaction.hpp"
#include "primitives/coin.hpp"

#include <blockpub/hash.hpp>

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace blockpub {

/// The relative lock times (BIP 68) of a transaction as worked out once: the last height and median time at
/// which they hold, and the highest block that one of its coins comes from: while that is in the chain, they
/// stay. Source: Bitcoin Core v28.1 src/kernel/mempool_entry.h, LockPoints.
struct LockPoints {
    std::int64_t height = -1;
    std::int64_t median_time = -1;
    Height input_height;
    BlockHash input_block;
};

struct MempoolEntry;
struct ByTxid {
    bool operator()(const MempoolEntry* a, const MempoolEntry* b) const;
};
/// In the order in which bitcoind goes through them, and so tells of their removal.
using MempoolEntrySet = std::set<MempoolEntry*, ByTxid>;

/// A transaction in the mempool, its neighbours, and the sums over all that it depends on or that depends on
/// it (itself included). Thread safety: chain thread only. Units: virtual bytes, satoshi.
struct MempoolEntry {
    struct Sums {
        std::uint64_t count = 0;
        std::int64_t vsize = 0;
        Amount modified_fees = 0;
        friend bool operator==(const Sums&, const Sums&) = default;
    };
    TransactionRef transaction;
    Amount fee = 0;
    Amount modified_fee = 0;  ///< with what prioritising adds
    std::int64_t vsize = 0;   ///< as policy counts it: signature operations may weigh more than bytes
    std::int64_t sigops_cost = 0;
    std::int64_t time = 0;      ///< of its arrival
    std::uint64_t arrival = 0;  ///< counts all arrivals
    Height height;              ///< of the tip at its arrival
    bool spends_coinbase = false;
    LockPoints lock_points;
    // Kept by the graph.
    MempoolEntrySet parents;
    MempoolEntrySet children;
    Sums ancestors;
    Sums descendants;

    [[nodiscard]] const Txid& txid() const { return transaction->txid(); }
    [[nodiscard]] std::size_t memory() const;
};

inline bool ByTxid::operator()(const MempoolEntry* a, const MempoolEntry* b) const {
    return a->txid() < b->txid();
}

/// How many and how large the families in the mempool may be.
struct MempoolFamilyLimits {
    std::uint64_t ancestor_count = 25;
    std::int64_t ancestor_vsize = 101'000;
    std::uint64_t descendant_count = 25;
    std::int64_t descendant_vsize = 101'000;
    [[nodiscard]] static MempoolFamilyLimits none();
};

/// The transactions of the mempool and how they depend on one another: no two spend one coin, and all sums
/// are right at the end of every call.
///
/// Thread safety: chain thread only.
/// Source: Bitcoin Core v28.1 src/txmempool.cpp, CTxMemPool.
class MempoolGraph {
 public:
    [[nodiscard]] MempoolEntry* find(const Txid& txid) const;
    [[nodiscard]] MempoolEntry* find(const Wtxid& wtxid) const;
    /// The entry that spends the output; null when none does.
    [[nodiscard]] MempoolEntry* spender(const Outpoint& outpoint) const;

    /// All that a transaction which is not here depends on, within the limits.
    /// Result: Core's words about the limit that is exceeded.
    [[nodiscard]] std::expected<MempoolEntrySet, std::string> ancestors_of(
        const MempoolTransaction& transaction, std::int64_t vsize, const MempoolFamilyLimits& limits) const;
    /// The same for several as if they were one (Core's rule for packages).
    [[nodiscard]] std::expected<MempoolEntrySet, std::string> ancestors_of_package(
        std::span<const TransactionRef> package, std::int64_t vsize, const MempoolFamilyLimits& limits) const;
    [[nodiscard]] MempoolEntrySet ancestors_of(const MempoolEntry& entry) const;
    /// Adds the entry and all that depends on it to `out`.
    void collect_descendants(MempoolEntry& entry, MempoolEntrySet& out) const;

    /// Adds an entry that nothing here depends on. Requires: `ancestors` are its own.
    MempoolEntry& add(std::unique_ptr<MempoolEntry> entry, const MempoolEntrySet& ancestors);
    /// Links entries that returned from a block to what was here before and spends their outputs.
    /// `returned` is in the order of their addition. Result: what exceeds the limits now.
    [[nodiscard]] std::set<Txid> link_returned(std::span<const Txid> returned,
                                               const MempoolFamilyLimits& limits);
    /// Cuts all links and sums of `removed`, so that each can be erased. With `keep_descendants` others may
    /// depend on them, which lose an ancestor (a block has it); else all that do are in `removed`.
    void detach(const MempoolEntrySet& removed, bool keep_descendants);
    /// Requires: detached.
    void erase(MempoolEntry& entry);
    /// The fee that counts for one entry changes by `delta`.
    void change_modified_fee(MempoolEntry& entry, Amount delta);

    /// The entry that is worth least together with its descendants. Requires: not empty.
    [[nodiscard]] MempoolEntry& least_valuable() const { return **by_value_.begin(); }

    [[nodiscard]] bool empty() const { return entries_.empty(); }
    [[nodiscard]] std::size_t size() const { return entries_.size(); }
    [[nodiscard]] std::int64_t total_vsize() const { return total_vsize_; }
    [[nodiscard]] Amount total_fee() const { return total_fee_; }
    /// Memory that all of it takes, roughly.
    [[nodiscard]] std::size_t memory() const { return memory_; }
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const auto& [txid, entry] : entries_) visit(*entry);
    }
    /// The one that came first, first; stops when the visit returns false.
    template <class Visit>
    void for_each_oldest_first(Visit&& visit) const {
        for (MempoolEntry* entry : by_time_) {
            if (!visit(*entry)) return;
        }
    }
    /// Entries whose sums or links have changed since the last call, and ids that are gone.
    struct Changes {
        std::set<Txid> touched;
        std::set<Txid> gone;
    };
    [[nodiscard]] Changes take_changes();

 private:
    struct LeastValueFirst {
        bool operator()(const MempoolEntry* a, const MempoolEntry* b) const;
    };
    struct OldestFirst {
        bool operator()(const MempoolEntry* a, const MempoolEntry* b) const;
    };

    [[nodiscard]] std::expected<MempoolEntrySet, std::string> collect_ancestors(
        MempoolEntrySet staged, std::uint64_t count, std::int64_t vsize,
        const MempoolFamilyLimits& limits) const;
    void change_descendants(MempoolEntry& entry, const MempoolEntry::Sums& by, bool add);
    void change_ancestors(MempoolEntry& entry, const MempoolEntry& by, bool add);
    void touch(const MempoolEntry& entry) { changes_.touched.insert(entry.txid()); }

    std::unordered_map<Txid, std::unique_ptr<MempoolEntry>> entries_;
    std::unordered_map<Wtxid, MempoolEntry*> by_wtxid_;
    std::unordered_map<Outpoint, MempoolEntry*> spenders_;
    std::set<MempoolEntry*, LeastValueFirst> by_value_;
    std::set<MempoolEntry*, OldestFirst> by_time_;
    std::int64_t total_vsize_ = 0;
    Amount total_fee_ = 0;
    std::size_t memory_ = 0;
    Changes changes_;
};

}  // namespace blockpub
