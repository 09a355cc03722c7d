// SPDX-License-Identifier: MIT
#include "chain/mempool_graph.hpp"

#include "base/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace blockpub {
namespace {

/// Nodes of the containers that an entry stands in, here and with the readers.
constexpr std::size_t kEntryOverhead = 704;
constexpr std::size_t kSpendOverhead = 2 * (sizeof(Outpoint) + 4 * sizeof(void*));

/// What an entry is worth to a miner: by itself, or with all that depends on it, whichever is more.
std::pair<double, double> fee_and_size(const MempoolEntry& entry) {
    const double own = static_cast<double>(entry.modified_fee) * static_cast<double>(entry.descendants.vsize);
    const double all =
        static_cast<double>(entry.descendants.modified_fees) * static_cast<double>(entry.vsize);
    if (all > own) {
        return {static_cast<double>(entry.descendants.modified_fees),
                static_cast<double>(entry.descendants.vsize)};
    }
    return {static_cast<double>(entry.modified_fee), static_cast<double>(entry.vsize)};
}

MempoolEntry::Sums of_itself(const MempoolEntry& entry) {
    return {.count = 1, .vsize = entry.vsize, .modified_fees = entry.modified_fee};
}

void apply(MempoolEntry::Sums& sums, const MempoolEntry::Sums& by, bool add) {
    if (add) {
        sums.count += by.count;
        sums.vsize += by.vsize;
        sums.modified_fees += by.modified_fees;
    } else {
        sums.count -= by.count;
        sums.vsize -= by.vsize;
        sums.modified_fees -= by.modified_fees;
    }
}

}  // namespace

std::size_t MempoolEntry::memory() const {
    return sizeof *this + transaction->memory() + kEntryOverhead +
           transaction->spends().size() * kSpendOverhead;
}

MempoolFamilyLimits MempoolFamilyLimits::none() {
    return {.ancestor_count = std::numeric_limits<std::uint64_t>::max(),
            .ancestor_vsize = std::numeric_limits<std::int64_t>::max(),
            .descendant_count = std::numeric_limits<std::uint64_t>::max(),
            .descendant_vsize = std::numeric_limits<std::int64_t>::max()};
}

bool MempoolGraph::LeastValueFirst::operator()(const MempoolEntry* a, const MempoolEntry* b) const {
    const auto [fee_a, size_a] = fee_and_size(*a);
    const auto [fee_b, size_b] = fee_and_size(*b);
    const double left = fee_a * size_b;
    const double right = size_a * fee_b;
    if (left != right) return left < right;
    if (a->time != b->time) return a->time > b->time;
    return a->arrival > b->arrival;
}

bool MempoolGraph::OldestFirst::operator()(const MempoolEntry* a, const MempoolEntry* b) const {
    if (a->time != b->time) return a->time < b->time;
    return a->arrival < b->arrival;
}

MempoolEntry* MempoolGraph::find(const Txid& txid) const {
    const auto found = entries_.find(txid);
    return found == entries_.end() ? nullptr : found->second.get();
}

MempoolEntry* MempoolGraph::find(const Wtxid& wtxid) const {
    const auto found = by_wtxid_.find(wtxid);
    return found == by_wtxid_.end() ? nullptr : found->second;
}

MempoolEntry* MempoolGraph::spender(const Outpoint& outpoint) const {
    const auto found = spenders_.find(outpoint);
    return found == spenders_.end() ? nullptr : found->second;
}

std::expected<MempoolEntrySet, std::string> MempoolGraph::ancestors_of(
    const MempoolTransaction& transaction, std::int64_t vsize, const MempoolFamilyLimits& limits) const {
    MempoolEntrySet staged;
    for (const Outpoint& outpoint : transaction.spends()) {
        MempoolEntry* const parent = find(outpoint.txid);
        if (parent == nullptr) continue;
        staged.insert(parent);
        if (staged.size() + 1 > limits.ancestor_count) {
            return std::unexpected(
                fmt::format("too many unconfirmed parents [limit: {}]", limits.ancestor_count));
        }
    }
    return collect_ancestors(std::move(staged), 1, vsize, limits);
}

std::expected<MempoolEntrySet, std::string> MempoolGraph::ancestors_of_package(
    std::span<const TransactionRef> package, std::int64_t vsize, const MempoolFamilyLimits& limits) const {
    if (package.size() > limits.ancestor_count) {
        return std::unexpected(fmt::format("package count {} exceeds ancestor count limit [limit: {}]",
                                           package.size(), limits.ancestor_count));
    }
    if (package.size() > limits.descendant_count) {
        return std::unexpected(fmt::format("package count {} exceeds descendant count limit [limit: {}]",
                                           package.size(), limits.descendant_count));
    }
    if (vsize > limits.ancestor_vsize) {
        return std::unexpected(fmt::format("package size {} exceeds ancestor size limit [limit: {}]", vsize,
                                           limits.ancestor_vsize));
    }
    if (vsize > limits.descendant_vsize) {
        return std::unexpected(fmt::format("package size {} exceeds descendant size limit [limit: {}]", vsize,
                                           limits.descendant_vsize));
    }
    MempoolEntrySet staged;
    for (const TransactionRef& transaction : package) {
        for (const Outpoint& outpoint : transaction->spends()) {
            MempoolEntry* const parent = find(outpoint.txid);
            if (parent == nullptr) continue;
            staged.insert(parent);
            if (staged.size() + package.size() > limits.ancestor_count) {
                return std::unexpected(
                    fmt::format("too many unconfirmed parents [limit: {}]", limits.ancestor_count));
            }
        }
    }
    auto ancestors = collect_ancestors(std::move(staged), package.size(), vsize, limits);
    if (!ancestors) return std::unexpected("possibly " + ancestors.error());
    return ancestors;
}

std::expected<MempoolEntrySet, std::string> MempoolGraph::collect_ancestors(
    MempoolEntrySet staged, std::uint64_t count, std::int64_t vsize,
    const MempoolFamilyLimits& limits) const {
    MempoolEntrySet ancestors;
    std::int64_t total = vsize;
    while (!staged.empty()) {
        MempoolEntry* const next = *staged.begin();
        staged.erase(staged.begin());
        ancestors.insert(next);
        total += next->vsize;
        if (next->descendants.vsize + vsize > limits.descendant_vsize) {
            return std::unexpected(fmt::format("exceeds descendant size limit for tx {} [limit: {}]",
                                               next->txid().display_hex(), limits.descendant_vsize));
        }
        if (next->descendants.count + count > limits.descendant_count) {
            return std::unexpected(fmt::format("too many descendants for tx {} [limit: {}]",
                                               next->txid().display_hex(), limits.descendant_count));
        }
        if (total > limits.ancestor_vsize) {
            return std::unexpected(
                fmt::format("exceeds ancestor size limit [limit: {}]", limits.ancestor_vsize));
        }
        for (MempoolEntry* parent : next->parents) {
            if (!ancestors.contains(parent)) staged.insert(parent);
            if (staged.size() + ancestors.size() + count > limits.ancestor_count) {
                return std::unexpected(
                    fmt::format("too many unconfirmed ancestors [limit: {}]", limits.ancestor_count));
            }
        }
    }
    return ancestors;
}

MempoolEntrySet MempoolGraph::ancestors_of(const MempoolEntry& entry) const {
    auto ancestors = collect_ancestors(entry.parents, 0, 0, MempoolFamilyLimits::none());
    BLOCKPUB_CHECK(ancestors.has_value());
    return std::move(*ancestors);
}

void MempoolGraph::collect_descendants(MempoolEntry& entry, MempoolEntrySet& out) const {
    std::vector<MempoolEntry*> staged;
    if (out.insert(&entry).second) staged.push_back(&entry);
    while (!staged.empty()) {
        MempoolEntry* const next = staged.back();
        staged.pop_back();
        for (MempoolEntry* child : next->children) {
            if (out.insert(child).second) staged.push_back(child);
        }
    }
}

void MempoolGraph::change_descendants(MempoolEntry& entry, const MempoolEntry::Sums& by, bool add) {
    by_value_.erase(&entry);
    apply(entry.descendants, by, add);
    by_value_.insert(&entry);
    touch(entry);
}

void MempoolGraph::change_ancestors(MempoolEntry& entry, const MempoolEntry& by, bool add) {
    apply(entry.ancestors, of_itself(by), add);
    touch(entry);
}

MempoolEntry& MempoolGraph::add(std::unique_ptr<MempoolEntry> owned, const MempoolEntrySet& ancestors) {
    MempoolEntry& entry = *owned;
    const bool inserted = entries_.emplace(entry.txid(), std::move(owned)).second;
    BLOCKPUB_CHECK(inserted, "{} is in the mempool already", entry.txid().display_hex());
    by_wtxid_.emplace(entry.transaction->wtxid(), &entry);
    for (const Outpoint& outpoint : entry.transaction->spends()) {
        const bool fresh = spenders_.emplace(outpoint, &entry).second;
        BLOCKPUB_CHECK(fresh, "{}:{} is spent twice", outpoint.txid.display_hex(), outpoint.position);
        MempoolEntry* const parent = find(outpoint.txid);
        if (parent == nullptr) continue;
        entry.parents.insert(parent);
        parent->children.insert(&entry);
    }
    entry.ancestors = entry.descendants = of_itself(entry);
    by_value_.insert(&entry);
    by_time_.insert(&entry);
    for (MempoolEntry* ancestor : ancestors) {
        change_descendants(*ancestor, of_itself(entry), true);
        change_ancestors(entry, *ancestor, true);
    }
    total_vsize_ += entry.vsize;
    total_fee_ += entry.fee;
    memory_ += entry.memory();
    touch(entry);
    return entry;
}

std::set<Txid> MempoolGraph::link_returned(std::span<const Txid> returned,
                                           const MempoolFamilyLimits& limits) {
    const std::set<Txid> fresh(returned.begin(), returned.end());
    std::set<Txid> beyond_limits;
    // The last first: what it brings is then part of what its ancestors bring.
    for (auto txid = returned.rbegin(); txid != returned.rend(); ++txid) {
        MempoolEntry* const entry = find(*txid);
        if (entry == nullptr) continue;
        for (std::uint32_t i = 0; i < entry->transaction->output_count(); ++i) {
            MempoolEntry* const child = spender({.txid = *txid, .position = i});
            if (child == nullptr || fresh.contains(child->txid())) continue;
            entry->children.insert(child);
            child->parents.insert(entry);
        }
        MempoolEntrySet descendants;
        collect_descendants(*entry, descendants);
        descendants.erase(entry);
        for (MempoolEntry* descendant : descendants) {
            // Those that returned as well were added behind it, and know of it.
            if (fresh.contains(descendant->txid())) continue;
            change_descendants(*entry, of_itself(*descendant), true);
            change_ancestors(*descendant, *entry, true);
            if (descendant->ancestors.count > limits.ancestor_count ||
                descendant->ancestors.vsize > limits.ancestor_vsize) {
                beyond_limits.insert(descendant->txid());
            }
        }
    }
    return beyond_limits;
}

void MempoolGraph::detach(const MempoolEntrySet& removed, bool keep_descendants) {
    if (keep_descendants) {
        for (MempoolEntry* entry : removed) {
            MempoolEntrySet descendants;
            collect_descendants(*entry, descendants);
            descendants.erase(entry);
            for (MempoolEntry* descendant : descendants) change_ancestors(*descendant, *entry, false);
        }
    }
    for (MempoolEntry* entry : removed) {
        for (MempoolEntry* ancestor : ancestors_of(*entry))
            change_descendants(*ancestor, of_itself(*entry), false);
    }
    for (MempoolEntry* entry : removed) {
        for (MempoolEntry* parent : entry->parents) parent->children.erase(entry);
        for (MempoolEntry* child : entry->children) {
            child->parents.erase(entry);
            touch(*child);
        }
        entry->parents.clear();
        entry->children.clear();
    }
}

void MempoolGraph::erase(MempoolEntry& entry) {
    BLOCKPUB_CHECK(entry.parents.empty() && entry.children.empty());
    total_vsize_ -= entry.vsize;
    total_fee_ -= entry.fee;
    memory_ -= entry.memory();
    by_value_.erase(&entry);
    by_time_.erase(&entry);
    by_wtxid_.erase(entry.transaction->wtxid());
    for (const Outpoint& outpoint : entry.transaction->spends()) spenders_.erase(outpoint);
    const Txid txid = entry.txid();
    changes_.touched.erase(txid);
    changes_.gone.insert(txid);
    entries_.erase(txid);
}

void MempoolGraph::change_modified_fee(MempoolEntry& entry, Amount delta) {
    const MempoolEntry::Sums by{.count = 0, .vsize = 0, .modified_fees = delta};
    for (MempoolEntry* ancestor : ancestors_of(entry)) change_descendants(*ancestor, by, true);
    MempoolEntrySet descendants;
    collect_descendants(entry, descendants);
    for (MempoolEntry* descendant : descendants) {
        apply(descendant->ancestors, by, true);
        touch(*descendant);
    }
    by_value_.erase(&entry);
    entry.modified_fee += delta;
    apply(entry.descendants, by, true);
    by_value_.insert(&entry);
}

MempoolGraph::Changes MempoolGraph::take_changes() {
    for (const Txid& txid : changes_.touched) changes_.gone.erase(txid);
    return std::exchange(changes_, {});
}

}  // namespace blockpub
