// SPDX-License-Identifier: MIT
#pragma once

#include "chain/mempool_pool.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

namespace blockpub {

/// One transaction of the mempool as readers see it; a copy of one moment.
/// Thread safety: a value.
struct MempoolRow {
    TransactionRef transaction;
    Amount fee = 0;
    Amount modified_fee = 0;
    std::int64_t vsize = 0;
    std::int64_t sigops_cost = 0;
    std::int64_t time = 0;
    Height height;
    MempoolEntry::Sums ancestors;
    MempoolEntry::Sums descendants;
    bool unbroadcast = false;
    [[nodiscard]] static MempoolRow of(const MempoolEntry& entry, bool unbroadcast);
};

/// A row and the neighbours that verbose answers name.
struct MempoolRowDetails {
    MempoolRow row;
    std::set<Txid> parents;
    std::set<Txid> children;
    bool replaceable = false;  ///< it says so, or one that it depends on (BIP 125)
};

/// Rows by txid, and what they spend.
/// Thread safety: distinct objects safe.
class MempoolRows {
 public:
    void put(MempoolRow row);
    void take(const Txid& txid);
    [[nodiscard]] const MempoolRow* find(const Txid& txid) const;
    [[nodiscard]] const MempoolRow* find(const Wtxid& wtxid) const;
    [[nodiscard]] std::optional<Txid> spender(const Outpoint& outpoint) const;
    [[nodiscard]] std::set<Txid> parents(const MempoolRow& row) const;
    [[nodiscard]] std::set<Txid> children(const MempoolRow& row) const;
    /// All that it depends on, or that depends on it, without itself.
    [[nodiscard]] std::set<Txid> ancestors(const MempoolRow& row) const;
    [[nodiscard]] std::set<Txid> descendants(const MempoolRow& row) const;
    [[nodiscard]] MempoolRowDetails details(const MempoolRow& row) const;
    [[nodiscard]] std::size_t size() const { return rows_.size(); }
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const auto& [txid, row] : rows_) visit(row);
    }

 private:
    std::unordered_map<Txid, MempoolRow> rows_;
    std::unordered_map<Wtxid, Txid> by_wtxid_;
    std::unordered_map<Outpoint, Txid> spenders_;
};

/// Those with few ancestors first, then by fee rate, then by txid: bitcoind's order of listing.
[[nodiscard]] bool is_listed_before(const MempoolRow& a, const MempoolRow& b);

}  // namespace blockpub
