// SPDX-License-Identifier: MIT
#pragma once

#include "chain/mempool_transaction.hpp"
#include "primitives/block.hpp"

#include <cstddef>
#include <list>
#include <unordered_map>
#include <vector>

namespace blockpub {

/// The transactions that a step has taken out of blocks, and that may return to the mempool: the last
/// transaction of the block that left first is at the front, and the first to be given up when there are
/// too many.
///
/// Thread safety: chain thread only.
/// Source: Bitcoin Core v28.1 src/kernel/disconnected_transactions.h.
class DisconnectedTransactions {
 public:
    explicit DisconnectedTransactions(std::size_t max_bytes) : max_bytes_(max_bytes) {}

    /// Adds a block's transactions. Result: what had to be given up for them.
    [[nodiscard]] std::vector<TransactionRef> add_block(const ParsedBlock& block);
    /// A new block has them.
    void remove_block(const ParsedBlock& block);
    /// All of them in the order in which they were first confirmed; empty afterwards.
    [[nodiscard]] std::vector<TransactionRef> take();
    [[nodiscard]] bool empty() const { return queue_.empty(); }

 private:
    using Queue = std::list<TransactionRef>;
    std::size_t max_bytes_;
    std::size_t bytes_ = 0;
    Queue queue_;
    std::unordered_map<Txid, Queue::iterator> places_;
};

}  // namespace blockpub
