// SPDX-License-Identifier: MIT
#include "store/coin_layer.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace blockpub {

CoinLayer::CoinLayer(std::vector<CoinChange> changes, StepNumber step, std::atomic<std::uint64_t>& total)
    : changes_(std::move(changes)), step_(step), total_(total) {
    index_.reserve(changes_.size());
    const auto outpoint_at = [&](std::uint32_t i) -> const Outpoint& { return changes_[i].outpoint; };
    for (std::size_t i = 0; i < changes_.size(); ++i)
        index_.put(changes_[i].outpoint, static_cast<std::uint32_t>(i), outpoint_at);
    bytes_ = changes_.capacity() * sizeof(CoinChange) + index_.bytes();
    for (const CoinChange& change : changes_) {
        if (change.coin && change.coin->script.size() > CoinScript::kInline)
            bytes_ += change.coin->script.size();
    }
    total_.fetch_add(bytes_, std::memory_order_relaxed);
}

CoinLayer::~CoinLayer() {
    total_.fetch_sub(bytes_, std::memory_order_relaxed);
}

const CoinChange* CoinLayer::find(const Outpoint& outpoint) const {
    const auto outpoint_at = [&](std::uint32_t i) -> const Outpoint& { return changes_[i].outpoint; };
    const std::uint32_t found = index_.find(outpoint, outpoint_at);
    return found == OutpointIndex::kNone ? nullptr : &changes_[found];
}

std::vector<CoinMemtable::Row> CoinLayer::sorted_shard(std::size_t shard) const {
    std::vector<CoinMemtable::Row> rows;
    for (std::size_t i = 0; i < changes_.size(); ++i) {
        const CoinChange& change = changes_[i];
        if (change.outpoint.txid.wire_bytes()[0] != shard) continue;
        if (find(change.outpoint) != &change) continue;
        CoinMemtable::Row& row = rows.emplace_back();
        row.key = coin_key(change.outpoint);
        if (change.coin) encode_coin(*change.coin, row.encoded);
        row.fresh = change.fresh;
    }
    std::ranges::sort(rows, std::ranges::less{}, &CoinMemtable::Row::key);
    return rows;
}

}  // namespace blockpub
