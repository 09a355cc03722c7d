// SPDX-License-Identifier: MIT
#include "store/coin_layer.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

namespace blockpub {

CoinLayer::CoinLayer(std::vector<CoinChange> changes, StepNumber step)
    : changes_(std::move(changes)), step_(step), slots_(std::bit_ceil(2 * changes_.size() + 1)) {
    for (std::size_t i = 0; i < changes_.size(); ++i)
        slots_[probe(changes_[i].outpoint)] = static_cast<std::uint32_t>(i + 1);
}

std::size_t CoinLayer::probe(const Outpoint& outpoint) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = std::hash<Outpoint>{}(outpoint)&mask;
    while (slots_[at] != 0 && changes_[slots_[at] - 1].outpoint != outpoint) at = (at + 1) & mask;
    return at;
}

const CoinChange* CoinLayer::find(const Outpoint& outpoint) const {
    const std::uint32_t found = slots_[probe(outpoint)];
    return found == 0 ? nullptr : &changes_[found - 1];
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
