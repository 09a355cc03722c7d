// SPDX-License-Identifier: MIT
#include "chain/disconnected_transactions.hpp"

#include "base/check.hpp"

#include <utility>

namespace blockpub {

std::vector<TransactionRef> DisconnectedTransactions::add_block(const ParsedBlock& block) {
    for (std::size_t i = block.transactions().size(); i-- > 0;) {
        // Its own buffer: a slice would keep the whole block.
        auto transaction = MempoolTransaction::decode(SharedBytes::copy_of(block.transaction(i).bytes()));
        BLOCKPUB_CHECK(transaction.has_value(), "a transaction of a block that has been parsed");
        bytes_ += (*transaction)->memory();
        queue_.push_back(std::move(*transaction));
        places_.insert_or_assign(queue_.back()->txid(), std::prev(queue_.end()));
    }
    std::vector<TransactionRef> given_up;
    while (!queue_.empty() && bytes_ > max_bytes_) {
        given_up.push_back(queue_.front());
        bytes_ -= queue_.front()->memory();
        const auto place = places_.find(queue_.front()->txid());
        if (place != places_.end() && place->second == queue_.begin()) places_.erase(place);
        queue_.pop_front();
    }
    return given_up;
}

void DisconnectedTransactions::remove_block(const ParsedBlock& block) {
    if (queue_.empty()) return;
    for (const ParsedBlock::Entry& entry : block.transactions()) {
        const auto place = places_.find(entry.txid);
        if (place == places_.end()) continue;
        bytes_ -= (*place->second)->memory();
        queue_.erase(place->second);
        places_.erase(place);
    }
}

std::vector<TransactionRef> DisconnectedTransactions::take() {
    std::vector<TransactionRef> transactions(queue_.rbegin(), queue_.rend());
    queue_.clear();
    places_.clear();
    bytes_ = 0;
    return transactions;
}

}  // namespace blockpub
