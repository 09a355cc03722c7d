// SPDX-License-Identifier: MIT
#include "chain/mempool_rows.hpp"

#include <utility>

namespace blockpub {
namespace {

/// All that `next` leads to from `row`, without the row itself.
template <class Next>
std::set<Txid> reach(const MempoolRows& rows, const MempoolRow& row, Next&& next) {
    std::set<Txid> reached;
    std::vector<const MempoolRow*> staged{&row};
    while (!staged.empty()) {
        const MempoolRow* const from = staged.back();
        staged.pop_back();
        for (const Txid& txid : next(*from)) {
            if (!reached.insert(txid).second) continue;
            if (const MempoolRow* const found = rows.find(txid)) staged.push_back(found);
        }
    }
    return reached;
}

}  // namespace

MempoolRow MempoolRow::of(const MempoolEntry& entry, bool unbroadcast) {
    return {.transaction = entry.transaction,
            .fee = entry.fee,
            .modified_fee = entry.modified_fee,
            .vsize = entry.vsize,
            .sigops_cost = entry.sigops_cost,
            .time = entry.time,
            .height = entry.height,
            .ancestors = entry.ancestors,
            .descendants = entry.descendants,
            .unbroadcast = unbroadcast};
}

void MempoolRows::put(MempoolRow row) {
    const TransactionRef transaction = row.transaction;
    const auto [place, fresh] = rows_.insert_or_assign(transaction->txid(), std::move(row));
    if (!fresh) return;
    by_wtxid_.insert_or_assign(transaction->wtxid(), transaction->txid());
    for (const Outpoint& outpoint : transaction->spends())
        spenders_.insert_or_assign(outpoint, transaction->txid());
}

void MempoolRows::take(const Txid& txid) {
    const auto found = rows_.find(txid);
    if (found == rows_.end()) return;
    by_wtxid_.erase(found->second.transaction->wtxid());
    for (const Outpoint& outpoint : found->second.transaction->spends()) {
        const auto spent = spenders_.find(outpoint);
        if (spent != spenders_.end() && spent->second == txid) spenders_.erase(spent);
    }
    rows_.erase(found);
}

const MempoolRow* MempoolRows::find(const Txid& txid) const {
    const auto found = rows_.find(txid);
    return found == rows_.end() ? nullptr : &found->second;
}

const MempoolRow* MempoolRows::find(const Wtxid& wtxid) const {
    const auto found = by_wtxid_.find(wtxid);
    return found == by_wtxid_.end() ? nullptr : find(found->second);
}

std::optional<Txid> MempoolRows::spender(const Outpoint& outpoint) const {
    const auto found = spenders_.find(outpoint);
    if (found == spenders_.end()) return std::nullopt;
    return found->second;
}

std::set<Txid> MempoolRows::parents(const MempoolRow& row) const {
    std::set<Txid> parents;
    for (const Outpoint& outpoint : row.transaction->spends()) {
        if (rows_.contains(outpoint.txid)) parents.insert(outpoint.txid);
    }
    return parents;
}

std::set<Txid> MempoolRows::children(const MempoolRow& row) const {
    std::set<Txid> children;
    if (row.descendants.count == 1) return children;
    for (std::uint32_t i = 0; i < row.transaction->output_count(); ++i) {
        if (const auto child = spender({.txid = row.transaction->txid(), .position = i}))
            children.insert(*child);
    }
    return children;
}

std::set<Txid> MempoolRows::ancestors(const MempoolRow& row) const {
    return reach(*this, row, [this](const MempoolRow& from) { return parents(from); });
}

std::set<Txid> MempoolRows::descendants(const MempoolRow& row) const {
    return reach(*this, row, [this](const MempoolRow& from) { return children(from); });
}

MempoolRowDetails MempoolRows::details(const MempoolRow& row) const {
    MempoolRowDetails details{.row = row,
                              .parents = parents(row),
                              .children = children(row),
                              .replaceable = row.transaction->signals_replacement()};
    if (details.replaceable || row.ancestors.count == 1) return details;
    for (const Txid& ancestor : ancestors(row)) {
        const MempoolRow* const found = find(ancestor);
        details.replaceable |= found != nullptr && found->transaction->signals_replacement();
    }
    return details;
}

bool is_listed_before(const MempoolRow& a, const MempoolRow& b) {
    if (a.ancestors.count != b.ancestors.count) return a.ancestors.count < b.ancestors.count;
    const double left = static_cast<double>(a.fee) * static_cast<double>(b.vsize);
    const double right = static_cast<double>(b.fee) * static_cast<double>(a.vsize);
    if (left != right) return left > right;
    return b.transaction->txid() < a.transaction->txid();
}

}  // namespace blockpub
