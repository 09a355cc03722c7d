// SPDX-License-Identifier: MIT
#include "chain/mempool_pool.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace blockpub {
namespace {

constexpr double kMinimumHalfLife = 12 * 60 * 60;    // seconds
constexpr std::int64_t kMinimumUpdateInterval = 10;  // seconds

}  // namespace

MempoolSequence MempoolPool::take_sequence() {
    const MempoolSequence sequence = next_sequence_;
    ++next_sequence_.value;
    return sequence;
}

MempoolEntry& MempoolPool::add(std::unique_ptr<MempoolEntry> entry, const MempoolEntrySet& ancestors) {
    entry->arrival = ++arrivals_;
    return graph_.add(std::move(entry), ancestors);
}

void MempoolPool::announce(const TransactionRef& transaction) {
    events_.emplace_back(TransactionAddedToMempool{
        .txid = transaction->txid(), .sequence = take_sequence(), .raw = transaction->raw()});
}

void MempoolPool::remove(const MempoolEntrySet& entries, MempoolRemoval cause) {
    graph_.detach(entries, cause == MempoolRemoval::block);
    // The set must not compare entries that are gone.
    const std::vector<MempoolEntry*> in_order(entries.begin(), entries.end());
    for (MempoolEntry* entry : in_order) {
        const MempoolSequence sequence = take_sequence();
        const Txid txid = entry->txid();
        if (cause != MempoolRemoval::block)
            events_.emplace_back(TransactionRemovedFromMempool{.txid = txid, .sequence = sequence});
        remove_unbroadcast(txid);
        graph_.erase(*entry);
    }
}

void MempoolPool::remove_with_descendants(const MempoolTransaction& transaction, MempoolRemoval cause) {
    MempoolEntrySet removed;
    if (MempoolEntry* const entry = graph_.find(transaction.txid())) {
        graph_.collect_descendants(*entry, removed);
    } else {
        for (std::uint32_t i = 0; i < transaction.output_count(); ++i) {
            MempoolEntry* const child = graph_.spender({.txid = transaction.txid(), .position = i});
            if (child != nullptr) graph_.collect_descendants(*child, removed);
        }
    }
    remove(removed, cause);
}

void MempoolPool::remove_conflicts(const TransactionView& transaction, const Txid& txid) {
    transaction.for_each_input([&](std::size_t, const TxInput& input) {
        MempoolEntry* const spender = graph_.spender(input.prevout);
        if (spender == nullptr || spender->txid() == txid) return true;
        clear_prioritisation(spender->txid());
        MempoolEntrySet removed;
        graph_.collect_descendants(*spender, removed);
        remove(removed, MempoolRemoval::conflict);
        return true;
    });
}

void MempoolPool::expire(std::int64_t before) {
    MempoolEntrySet removed;
    // Newer transactions may depend on older ones: they go with them.
    graph_.for_each_oldest_first([&](MempoolEntry& entry) {
        if (entry.time >= before) return false;
        graph_.collect_descendants(entry, removed);
        return true;
    });
    if (!removed.empty()) remove(removed, MempoolRemoval::expiry);
}

void MempoolPool::note_removed_rate(FeeRate rate) {
    if (static_cast<double>(rate.per_kvb) <= rolling_minimum_) return;
    rolling_minimum_ = static_cast<double>(rate.per_kvb);
    block_since_rise_ = false;
}

void MempoolPool::limit_size() {
    expire(options_.clock->now_seconds() - options_.expiry.count());
    while (!graph_.empty() && memory() > options_.max_bytes) {
        MempoolEntry& least = graph_.least_valuable();
        // Equal to what had to go is not enough to come in.
        FeeRate rate = FeeRate::of(least.descendants.modified_fees, least.descendants.vsize);
        rate.per_kvb += options_.policy.incremental.per_kvb;
        note_removed_rate(rate);
        MempoolEntrySet removed;
        graph_.collect_descendants(least, removed);
        remove(removed, MempoolRemoval::size_limit);
    }
}

FeeRate MempoolPool::min_fee() {
    if (!block_since_rise_ || rolling_minimum_ == 0) return {std::llround(rolling_minimum_)};
    const std::int64_t now = options_.clock->now_seconds();
    if (now > rolling_updated_ + kMinimumUpdateInterval) {
        double half_life = kMinimumHalfLife;
        if (memory() < options_.max_bytes / 4) {
            half_life /= 4;
        } else if (memory() < options_.max_bytes / 2) {
            half_life /= 2;
        }
        rolling_minimum_ /= std::pow(2.0, static_cast<double>(now - rolling_updated_) / half_life);
        rolling_updated_ = now;
        if (rolling_minimum_ < static_cast<double>(options_.policy.incremental.per_kvb) / 2) {
            rolling_minimum_ = 0;
            return {0};
        }
    }
    return std::max(FeeRate{std::llround(rolling_minimum_)}, options_.policy.incremental);
}

void MempoolPool::block_connected() {
    rolling_updated_ = options_.clock->now_seconds();
    block_since_rise_ = true;
}

void MempoolPool::prioritise(const Txid& txid, Amount delta) {
    const auto place = deltas_.emplace(txid, 0).first;
    const Amount before = place->second;
    // Within bounds that sums over families cannot leave.
    place->second = std::clamp(before + std::clamp(delta, -kMaxMoney, kMaxMoney), -kMaxMoney, kMaxMoney);
    const Amount change = place->second - before;
    if (place->second == 0) deltas_.erase(place);
    delta_changes_.insert(txid);
    if (MempoolEntry* const entry = graph_.find(txid)) graph_.change_modified_fee(*entry, change);
}

Amount MempoolPool::delta_of(const Txid& txid) const {
    const auto found = deltas_.find(txid);
    return found == deltas_.end() ? 0 : found->second;
}

void MempoolPool::clear_prioritisation(const Txid& txid) {
    if (deltas_.erase(txid) != 0) delta_changes_.insert(txid);
}

std::map<Txid, Amount> MempoolPool::take_delta_changes() {
    std::map<Txid, Amount> changes;
    for (const Txid& txid : std::exchange(delta_changes_, {})) changes.emplace(txid, delta_of(txid));
    return changes;
}

void MempoolPool::add_unbroadcast(const Txid& txid) {
    if (graph_.find(txid) != nullptr && unbroadcast_.insert(txid).second) unbroadcast_changes_.insert(txid);
}

void MempoolPool::remove_unbroadcast(const Txid& txid) {
    if (unbroadcast_.erase(txid) != 0) unbroadcast_changes_.insert(txid);
}

std::vector<MempoolEvent> MempoolPool::take_events() {
    return std::exchange(events_, {});
}

std::set<Txid> MempoolPool::take_unbroadcast_changes() {
    return std::exchange(unbroadcast_changes_, {});
}

}  // namespace blockpub
