// SPDX-License-Identifier: MIT
#include "chain/block_coins.hpp"

#include "base/check.hpp"

#include <utility>

namespace blockpub {

BlockCoins::Entry* BlockCoins::entry_of(const Outpoint& outpoint) {
    const std::uint32_t found =
        index_.find(outpoint, [&](std::uint32_t i) -> const Outpoint& { return entries_[i].outpoint; });
    return found == OutpointIndex::kNone ? nullptr : &entries_[found];
}

BlockCoins::Entry& BlockCoins::add_entry(const Outpoint& outpoint) {
    index_.put(outpoint, static_cast<std::uint32_t>(entries_.size()),
               [&](std::uint32_t i) -> const Outpoint& { return entries_[i].outpoint; });
    Entry& entry = entries_.emplace_back();
    entry.outpoint = outpoint;
    return entry;
}

Result<const Coin*> BlockCoins::find(const Outpoint& outpoint) {
    if (const Entry* const entry = entry_of(outpoint)) return entry->coin ? &*entry->coin : nullptr;
    auto coin = below_.find(outpoint);
    if (!coin && coin.error().code != Errc::not_found) return forward_error(coin);
    Entry& entry = add_entry(outpoint);
    if (coin) {
        entry.coin = std::move(*coin);
    } else {
        entry.below_may_have = false;
    }
    return entry.coin ? &*entry.coin : nullptr;
}

Coin BlockCoins::spend(const Outpoint& outpoint) {
    Entry* const entry = entry_of(outpoint);
    BLOCKPUB_CHECK(entry != nullptr && entry->coin.has_value(), "{}:{}", outpoint.txid.display_hex(),
                   outpoint.position);
    Coin coin = std::move(*entry->coin);
    entry->coin.reset();
    entry->changed = true;
    return coin;
}

void BlockCoins::add(const Outpoint& outpoint, Coin coin, bool known_new) {
    Entry* entry = entry_of(outpoint);
    if (entry == nullptr) {
        entry = &add_entry(outpoint);
        if (known_new) entry->below_may_have = false;
    }
    entry->coin = std::move(coin);
    entry->changed = true;
}

std::vector<CoinChange> BlockCoins::take_changes() {
    std::vector<CoinChange> changes;
    changes.reserve(entries_.size());
    for (Entry& entry : entries_) {
        if (!entry.changed) continue;
        if (!entry.coin && !entry.below_may_have) continue;  // made and spent within the block
        changes.push_back(
            {.outpoint = entry.outpoint, .coin = std::move(entry.coin), .fresh = !entry.below_may_have});
    }
    entries_.clear();
    index_ = {};
    return changes;
}

}  // namespace blockpub
