// SPDX-License-Identifier: MIT
#include "chain/block_coins.hpp"

#include <utility>

namespace blockpub {

std::size_t BlockCoins::add_entry(const Outpoint& outpoint) {
    entries_.emplace_back().outpoint = outpoint;
    changed_.push_back(false);
    return entries_.size() - 1;
}

Result<std::size_t> BlockCoins::position_of(const Outpoint& outpoint, std::optional<Coin> known) {
    if (const std::uint32_t found = index_.find(outpoint, outpoint_at()); found != OutpointIndex::kNone)
        return found;
    auto coin = known ? Result<Coin>(*std::move(known)) : below_.find(outpoint);
    if (!coin && coin.error().code != Errc::not_found) return forward_error(coin);
    index_.put(outpoint, static_cast<std::uint32_t>(entries_.size()), outpoint_at());
    const std::size_t position = add_entry(outpoint);
    if (coin) {
        entries_[position].coin = std::move(*coin);
    } else {
        entries_[position].fresh = true;
    }
    return position;
}

Result<const Coin*> BlockCoins::find(const Outpoint& outpoint) {
    auto position = position_of(outpoint);
    if (!position) return forward_error(position);
    const auto& coin = entries_[*position].coin;
    return coin ? &*coin : nullptr;
}

Result<std::optional<Coin>> BlockCoins::spend(const Outpoint& outpoint, std::optional<Coin> known) {
    auto position = position_of(outpoint, std::move(known));
    if (!position) return forward_error(position);
    auto& kept = entries_[*position].coin;
    if (kept) changed_[*position] = true;
    return std::exchange(kept, std::nullopt);
}

void BlockCoins::add(const Outpoint& outpoint, Coin coin, bool known_new) {
    const auto next = static_cast<std::uint32_t>(entries_.size());
    const std::uint32_t position = index_.find_or_put(outpoint, next, outpoint_at());
    if (position == next) entries_[add_entry(outpoint)].fresh = known_new;
    entries_[position].coin = std::move(coin);
    changed_[position] = true;
}

std::vector<CoinChange> BlockCoins::take_changes() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        CoinChange& entry = entries_[i];
        if (!changed_[i]) continue;
        if (!entry.coin && entry.fresh) continue;  // made and spent within the block
        if (kept != i) entries_[kept] = std::move(entry);
        ++kept;
    }
    entries_.resize(kept);
    changed_.clear();
    index_ = {};
    return std::exchange(entries_, {});
}

}  // namespace blockpub
