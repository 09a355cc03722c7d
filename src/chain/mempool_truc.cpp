// SPDX-License-Identifier: MIT
#include "chain/mempool_truc.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace blockpub {
namespace {

constexpr std::int64_t kMaxVsize = 10'000;
constexpr std::int64_t kMaxChildVsize = 1'000;
constexpr std::size_t kFamilyLimit = 2;  // of ancestors and of descendants, itself included

std::string name_of(const MempoolTransaction& transaction) {
    return fmt::format("tx {} (wtxid={})", transaction.txid().display_hex(),
                       transaction.wtxid().display_hex());
}

std::string too_big(const MempoolTransaction& transaction, std::int64_t vsize) {
    return fmt::format("version=3 {} is too big: {} > {} virtual bytes", name_of(transaction), vsize,
                       kMaxVsize);
}

std::string child_too_big(const MempoolTransaction& transaction, std::int64_t vsize) {
    return fmt::format("version=3 child {} is too big: {} > {} virtual bytes", name_of(transaction), vsize,
                       kMaxChildVsize);
}

std::string too_many_ancestors(const MempoolTransaction& transaction) {
    return name_of(transaction) + " would have too many ancestors";
}

std::string too_many_descendants(const MempoolTransaction& parent) {
    return name_of(parent) + " would exceed descendant count limit";
}

/// Versions must not mix within a family.
std::optional<std::string> inheritance(const MempoolTransaction& child, const MempoolTransaction& parent) {
    const bool child_truc = child.version() == kTrucVersion;
    const bool parent_truc = parent.version() == kTrucVersion;
    if (child_truc == parent_truc) return std::nullopt;
    return fmt::format("{}version=3 {} cannot spend from {}version=3 {}", child_truc ? "" : "non-",
                       name_of(child), parent_truc ? "" : "non-", name_of(parent));
}

bool spends_from(const MempoolTransaction& transaction, const Txid& txid) {
    return std::ranges::any_of(transaction.spends(),
                               [&](const Outpoint& outpoint) { return outpoint.txid == txid; });
}

std::vector<const MempoolTransaction*> parents_in_package(const MempoolTransaction& transaction,
                                                          std::span<const TransactionRef> package) {
    std::vector<const MempoolTransaction*> parents;
    for (const TransactionRef& other : package) {
        if (other.get() == &transaction) break;
        if (spends_from(transaction, other->txid())) parents.push_back(other.get());
    }
    return parents;
}

/// Whether the only parent has another child, or this one a child, within the package.
std::optional<std::string> check_package_neighbours(const MempoolTransaction& transaction,
                                                    const MempoolTransaction& parent,
                                                    std::span<const TransactionRef> package) {
    for (const TransactionRef& other : package) {
        if (other.get() == &transaction) continue;
        for (const Outpoint& outpoint : other->spends()) {
            if (outpoint.txid == parent.txid()) return too_many_descendants(parent);
            if (outpoint.txid == transaction.txid()) return too_many_ancestors(*other);
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<TrucViolation> check_truc(const MempoolTransaction& transaction, std::int64_t vsize,
                                        const MempoolGraph& graph, const MempoolEntrySet& ancestors,
                                        const MempoolEntrySet& conflicts) {
    for (const MempoolEntry* ancestor : ancestors) {
        if (auto broken = inheritance(transaction, *ancestor->transaction))
            return TrucViolation{.details = std::move(*broken)};
    }
    if (transaction.version() != kTrucVersion) return std::nullopt;
    if (vsize > kMaxVsize) return TrucViolation{.details = too_big(transaction, vsize)};
    if (ancestors.size() + 1 > kFamilyLimit) return TrucViolation{.details = too_many_ancestors(transaction)};
    if (ancestors.empty()) return std::nullopt;
    if (vsize > kMaxChildVsize) return TrucViolation{.details = child_too_big(transaction, vsize)};
    MempoolEntry& parent = **ancestors.begin();
    MempoolEntrySet descendants;
    graph.collect_descendants(parent, descendants);
    descendants.erase(&parent);
    const bool replaces_child =
        std::ranges::any_of(descendants, [&](MempoolEntry* child) { return conflicts.contains(child); });
    if (parent.descendants.count + 1 <= kFamilyLimit || replaces_child) return std::nullopt;
    // A reorganization may leave more than one child, or a grandchild: then there is no telling which to
    // evict.
    const bool one_child = parent.descendants.count == 2 && (*descendants.begin())->ancestors.count == 2;
    return TrucViolation{.details = too_many_descendants(*parent.transaction),
                         .sibling = one_child ? *descendants.begin() : nullptr};
}

std::optional<std::string> check_truc_in_package(const MempoolTransaction& transaction, std::int64_t vsize,
                                                 std::span<const TransactionRef> package,
                                                 const MempoolEntrySet& ancestors) {
    const auto in_package = parents_in_package(transaction, package);
    if (transaction.version() != kTrucVersion) {
        for (const MempoolEntry* ancestor : ancestors) {
            if (auto broken = inheritance(transaction, *ancestor->transaction)) return broken;
        }
        for (const MempoolTransaction* parent : in_package) {
            if (auto broken = inheritance(transaction, *parent)) return broken;
        }
        return std::nullopt;
    }
    if (vsize > kMaxVsize) return too_big(transaction, vsize);
    if (ancestors.size() + in_package.size() + 1 > kFamilyLimit) return too_many_ancestors(transaction);
    if (ancestors.empty() && in_package.empty()) return std::nullopt;
    if (vsize > kMaxChildVsize) return child_too_big(transaction, vsize);
    const MempoolEntry* const there = ancestors.empty() ? nullptr : *ancestors.begin();
    const MempoolTransaction& parent = there != nullptr ? *there->transaction : *in_package.front();
    if (auto broken = inheritance(transaction, parent)) return broken;
    if (auto broken = check_package_neighbours(transaction, parent, package)) return broken;
    if (there != nullptr && there->descendants.count > 1) return too_many_descendants(parent);
    return std::nullopt;
}

}  // namespace blockpub
