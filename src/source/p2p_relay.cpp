// SPDX-License-Identifier: MIT
#include "source/p2p_relay.hpp"

#include "primitives/fee_rate.hpp"

#include <algorithm>

namespace blockpub {

TransactionRelay::Row TransactionRelay::row_of(const MempoolRow& row) {
    return {.txid = row.transaction->txid(),
            .wtxid = row.transaction->wtxid(),
            .fee = row.fee,
            .vsize = row.vsize};
}

bool TransactionRelay::suits(const Row& row, const TransactionTaste& taste) {
    return taste.fee_filter <= 0 || row.fee >= FeeRate{taste.fee_filter}.fee_for(row.vsize);
}

InventoryItem TransactionRelay::item_of(const Row& row, const TransactionTaste& taste) {
    using Hash = decltype(InventoryItem::hash);
    if (taste.by_wtxid) return {InventoryItem::witness_transaction, Hash(row.wtxid.wire_bytes())};
    return {InventoryItem::transaction, Hash(row.txid.wire_bytes())};
}

void TransactionRelay::publish() {
    for (const Txid& txid : fresh_) {
        if (const auto row = board_.find(txid)) rows_.push_back(row_of(*row));
    }
    fresh_.clear();
    while (rows_.size() > kRemembered) {
        rows_.pop_front();
        ++first_;
    }
}

std::vector<InventoryItem> TransactionRelay::take(Place& place, const TransactionTaste& taste,
                                                  std::size_t limit) const {
    std::vector<InventoryItem> items;
    place = std::max(place, first_);
    for (; place < end() && items.size() < limit; ++place) {
        const Row& row = rows_[static_cast<std::size_t>(place - first_)];
        if (suits(row, taste)) items.push_back(item_of(row, taste));
    }
    return items;
}

std::vector<InventoryItem> TransactionRelay::everything(const TransactionTaste& taste) const {
    std::vector<InventoryItem> items;
    for (const MempoolRow& listed : board_.all().rows) {
        const Row row = row_of(listed);
        if (suits(row, taste)) items.push_back(item_of(row, taste));
    }
    return items;
}

TransactionRef TransactionRelay::find(const InventoryItem& item) const {
    const auto row = item.type == InventoryItem::witness_transaction
                         ? board_.find(Wtxid(item.hash.wire_bytes()))
                         : board_.find(Txid(item.hash.wire_bytes()));
    return row ? row->transaction : nullptr;
}

}  // namespace blockpub
