// SPDX-License-Identifier: MIT
#pragma once

#include "chain/mempool_board.hpp"
#include "source/p2p_messages.hpp"

#include <blockpub/hash.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace blockpub {

/// What one peer is told of transactions.
struct TransactionTaste {
    bool by_wtxid = false;  ///< BIP 339
    Amount fee_filter = 0;  ///< BIP 133: nothing that pays less for 1000 virtual bytes
};

/// The transactions that entered the mempool lately, for peers to be told of: one row for all of them, in
/// which each has its place. Who is too far behind misses the oldest.
///
/// Thread safety: one thread at a time. Ownership: borrows the board. Blocking: as the board.
class TransactionRelay {
 public:
    static constexpr std::size_t kRemembered = 50'000;
    using Place = std::uint64_t;

    explicit TransactionRelay(const MempoolBoard& board) : board_(board) {}

    /// Is told of with the next publish(), if it is still there then.
    void add(const Txid& txid) { fresh_.push_back(txid); }
    [[nodiscard]] bool anything_fresh() const { return !fresh_.empty(); }
    void publish();
    /// Forgets what was to be told: nobody listens.
    void skip() { fresh_.clear(); }

    /// Where whoever comes now begins.
    [[nodiscard]] Place end() const { return first_ + rows_.size(); }
    /// Up to `limit` items from `place` on, which moves behind what was looked at.
    [[nodiscard]] std::vector<InventoryItem> take(Place& place, const TransactionTaste& taste,
                                                  std::size_t limit) const;
    /// The whole mempool, parents first.
    [[nodiscard]] std::vector<InventoryItem> everything(const TransactionTaste& taste) const;
    /// The transaction that a getdata asks for; nothing when it is not in the mempool.
    [[nodiscard]] TransactionRef find(const InventoryItem& item) const;

 private:
    struct Row {
        Txid txid;
        Wtxid wtxid;
        Amount fee = 0;
        std::int64_t vsize = 0;
    };
    [[nodiscard]] static Row row_of(const MempoolRow& row);
    [[nodiscard]] static bool suits(const Row& row, const TransactionTaste& taste);
    [[nodiscard]] static InventoryItem item_of(const Row& row, const TransactionTaste& taste);

    const MempoolBoard& board_;
    std::vector<Txid> fresh_;
    std::deque<Row> rows_;
    Place first_ = 0;  // of rows_
};

}  // namespace blockpub
