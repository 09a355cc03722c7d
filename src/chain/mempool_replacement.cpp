// SPDX-License-Identifier: MIT
#include "chain/mempool_replacement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace blockpub {
namespace {

constexpr std::uint64_t kMaxReplaced = 100;

__extension__ using Wide = __int128;

/// Transactions that a miner takes together.
struct Chunk {
    Amount fee = 0;
    std::int64_t vsize = 0;
};

bool has_higher_rate(const Chunk& a, const Chunk& b) {
    return Wide{a.fee} * b.vsize > Wide{b.fee} * a.vsize;
}

/// What the first `vsize` bytes of the best chunks pay, as a fraction.
struct Fraction {
    Wide numerator = 0;
    Wide denominator = 1;
};
Fraction fees_within(const std::vector<Chunk>& chunks, std::int64_t vsize) {
    Amount fees = 0;
    for (const Chunk& chunk : chunks) {
        if (vsize < chunk.vsize)
            return {Wide{fees} * chunk.vsize + Wide{chunk.fee} * vsize, Wide{chunk.vsize}};
        fees += chunk.fee;
        vsize -= chunk.vsize;
    }
    return {Wide{fees}, 1};
}

/// Whether `a` pays as much as `b` at every size, and more at some. Both are sorted, the best chunk first:
/// they differ most where a chunk of either ends.
bool is_better_everywhere(const std::vector<Chunk>& a, const std::vector<Chunk>& b) {
    std::set<std::int64_t> ends;
    for (const auto* chunks : {&a, &b}) {
        std::int64_t end = 0;
        for (const Chunk& chunk : *chunks) ends.insert(end += chunk.vsize);
    }
    bool better = false;
    for (const std::int64_t end : ends) {
        const Fraction left = fees_within(a, end);
        const Fraction right = fees_within(b, end);
        const Wide difference = left.numerator * right.denominator - right.numerator * left.denominator;
        if (difference < 0) return false;
        better |= difference > 0;
    }
    return better;
}

/// Families of two at most can be compared. Result: Core's words for a larger one.
std::optional<std::string> check_small_family(const MempoolEntry& entry) {
    const std::string txid = entry.txid().display_hex();
    if (entry.ancestors.count > 2)
        return fmt::format("{} has {} ancestors, max 1 allowed", txid, entry.ancestors.count - 1);
    if (entry.descendants.count > 2)
        return fmt::format("{} has {} descendants, max 1 allowed", txid, entry.descendants.count - 1);
    if (entry.ancestors.count > 1 && entry.descendants.count > 1)
        return txid + " has both ancestor and descendant, exceeding cluster limit of 2";
    if (entry.descendants.count > 1) {
        const MempoolEntry& child = **entry.children.begin();
        if (child.ancestors.count > 2)
            return fmt::format("{} is not the only parent of child {}", txid, child.txid().display_hex());
    } else if (entry.ancestors.count > 1) {
        const MempoolEntry& parent = **entry.parents.begin();
        if (parent.descendants.count > 2)
            return fmt::format("{} is not the only child of parent {}", txid, parent.txid().display_hex());
    }
    return std::nullopt;
}

std::vector<Chunk> chunks_before(const MempoolEntrySet& all) {
    std::vector<Chunk> chunks;
    for (const MempoolEntry* entry : all) {
        if (entry->descendants.count > 1) continue;  // comes with its child
        const Chunk alone{entry->modified_fee, entry->vsize};
        const Chunk family{entry->ancestors.modified_fees, entry->ancestors.vsize};
        if (entry->ancestors.count == 1) {
            chunks.push_back(alone);
        } else if (has_higher_rate(alone, family)) {
            chunks.push_back(family);
        } else {
            chunks.push_back({family.fee - alone.fee, family.vsize - alone.vsize});
            chunks.push_back(alone);
        }
    }
    std::ranges::sort(chunks, has_higher_rate);
    return chunks;
}

std::vector<Chunk> chunks_after(const MempoolEntrySet& direct, const MempoolEntrySet& all, Chunk added) {
    std::vector<Chunk> chunks{added};
    for (const MempoolEntry* entry : direct) {
        if (entry->parents.empty()) continue;
        MempoolEntry* const parent = *entry->parents.begin();
        if (!all.contains(parent)) chunks.push_back({parent->modified_fee, parent->vsize});
    }
    std::ranges::sort(chunks, has_higher_rate);
    return chunks;
}

std::optional<std::string> pays_higher_rate(const Replacement& replacement) {
    const FeeRate rate = FeeRate::of(replacement.modified_fee, replacement.vsize);
    for (const MempoolEntry* entry : replacement.direct) {
        const FeeRate replaced = FeeRate::of(entry->modified_fee, entry->vsize);
        if (rate > replaced) continue;
        return fmt::format("rejecting replacement {}; new feerate {} <= old feerate {}",
                           replacement.transaction->txid().display_hex(), rate.text(), replaced.text());
    }
    return std::nullopt;
}

/// A replacement must not ask for other unconfirmed transactions to be mined first.
std::optional<std::string> adds_unconfirmed(const MempoolGraph& graph, const MempoolTransaction& transaction,
                                            const MempoolEntrySet& all) {
    std::set<Txid> known;
    for (const MempoolEntry* entry : all) {
        for (const Outpoint& outpoint : entry->transaction->spends()) known.insert(outpoint.txid);
    }
    for (std::size_t i = 0; i < transaction.spends().size(); ++i) {
        const Txid& parent = transaction.spends()[i].txid;
        if (known.contains(parent) || graph.find(parent) == nullptr) continue;
        return fmt::format("replacement {} adds unconfirmed input, idx {}", transaction.txid().display_hex(),
                           i);
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::string> collect_replaced(const MempoolGraph& graph, const Txid& txid,
                                            const MempoolEntrySet& direct, MempoolEntrySet& all) {
    std::uint64_t count = 0;
    for (const MempoolEntry* entry : direct) {
        count += entry->descendants.count;
        if (count > kMaxReplaced) {
            return fmt::format("rejecting replacement {}; too many potential replacements ({} > {})",
                               txid.display_hex(), count, kMaxReplaced);
        }
    }
    for (MempoolEntry* entry : direct) graph.collect_descendants(*entry, all);
    return std::nullopt;
}

std::optional<std::string> pays_for_replacement(const MempoolEntrySet& all, Amount fee, std::int64_t vsize,
                                                FeeRate incremental, const Txid& txid) {
    Amount replaced = 0;
    for (const MempoolEntry* entry : all) replaced += entry->modified_fee;
    if (fee < replaced) {
        return fmt::format("rejecting replacement {}, less fees than conflicting txs; {} < {}",
                           txid.display_hex(), format_money(fee), format_money(replaced));
    }
    const Amount needed = incremental.fee_for(vsize);
    if (fee - replaced < needed) {
        return fmt::format("rejecting replacement {}, not enough additional fees to relay; {} < {}",
                           txid.display_hex(), format_money(fee - replaced), format_money(needed));
    }
    return std::nullopt;
}

std::optional<TransactionRefusal> check_replacement(const MempoolGraph& graph, const Replacement& replacement,
                                                    FeeRate incremental, MempoolEntrySet& all) {
    const char* const suffix = replacement.evicts_sibling ? " (including sibling eviction)" : "";
    const auto reason = [&](const char* text) { return fmt::format("{}{}", text, suffix); };
    if (auto broken = pays_higher_rate(replacement))
        return refuse(reason("insufficient fee"), std::move(*broken),
                      TransactionRefusal::Kind::reconsiderable);
    const Txid& txid = replacement.transaction->txid();
    MempoolEntrySet collected;
    if (auto broken = collect_replaced(graph, txid, replacement.direct, collected))
        return refuse(reason("too many potential replacements"), std::move(*broken));
    if (auto broken = adds_unconfirmed(graph, *replacement.transaction, collected))
        return refuse(reason("replacement-adds-unconfirmed"), std::move(*broken));
    if (auto broken =
            pays_for_replacement(collected, replacement.modified_fee, replacement.vsize, incremental, txid)) {
        return refuse(reason("insufficient fee"), std::move(*broken),
                      TransactionRefusal::Kind::reconsiderable);
    }
    all.merge(collected);
    return std::nullopt;
}

std::optional<std::string> improves_mempool(const MempoolEntrySet& direct, const MempoolEntrySet& all,
                                            Amount fee, std::int64_t vsize) {
    for (const MempoolEntry* entry : direct) {
        if (auto broken = check_small_family(*entry)) return broken;
    }
    if (is_better_everywhere(chunks_after(direct, all, {fee, vsize}), chunks_before(all)))
        return std::nullopt;
    return "insufficient feerate: does not improve feerate diagram";
}

}  // namespace blockpub
