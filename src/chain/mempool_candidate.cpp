// SPDX-License-Identifier: MIT
#include "chain/mempool_candidate.hpp"

#include "chain/input_checks.hpp"
#include "chain/mempool_truc.hpp"
#include "chain/standardness.hpp"
#include "chain/transaction_checks.hpp"
#include "store/coin_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace blockpub {
namespace {

using Kind = TransactionRefusal::Kind;

constexpr std::size_t kMinStrippedSize = 65;  // a smaller one could pass for a node of a merkle tree
constexpr std::int64_t kMaxStandardSigopsCost = 16'000;
constexpr std::int64_t kCarveOutVsize = 10'000;

bool share_an_entry(const MempoolEntrySet& a, const MempoolEntrySet& b, const MempoolEntry*& shared) {
    for (MempoolEntry* entry : a) {
        if (!b.contains(entry)) continue;
        shared = entry;
        return true;
    }
    return false;
}

}  // namespace

LockPoints lock_points_of(const MempoolTransaction& transaction, std::span<const Height> heights,
                          const HeaderNode& tip) {
    const SequenceLocks locks = sequence_locks(
        transaction.view(), heights, [&](Height height) { return tip.ancestor(height)->median_time_past(); });
    LockPoints points{
        .height = locks.height, .median_time = locks.median_time, .input_height = {}, .input_block = {}};
    const bool counts = transaction.version() >= 2;
    transaction.view().for_each_input([&](std::size_t position, const TxInput& input) {
        const bool disabled = counts && (input.sequence & kSequenceDisabled) != 0;
        // What the mempool made has no block yet.
        if (!disabled && heights[position] <= tip.height)
            points.input_height = std::max(points.input_height, heights[position]);
        return true;
    });
    points.input_block = tip.ancestor(points.input_height)->hash;
    return points;
}

bool are_locks_over(const LockPoints& points, const HeaderNode& tip) {
    return points.height < static_cast<std::int64_t>(tip.height.next().value) &&
           points.median_time < tip.median_time_past();
}

bool is_final_on(const MempoolTransaction& transaction, const HeaderNode& tip) {
    return is_final(transaction.view(), tip.height.next(), tip.median_time_past());
}

Result<Refusal> CandidateChecks::check(MempoolCandidate& candidate, const AcceptRules& rules) {
    const MempoolTransaction& transaction = *candidate.transaction;
    if (Refusal refusal = check_alone(transaction)) return refusal;
    if (Refusal refusal = find_conflicts(candidate, rules)) return refusal;
    SpentCoins spent;
    auto missing = gather_spent(transaction, spent);
    if (!missing || *missing) return missing;
    candidate.entry = std::make_unique<MempoolEntry>();
    MempoolEntry& entry = *candidate.entry;
    entry.transaction = candidate.transaction;
    entry.time = rules.time.value_or(pool_.options().clock->now_seconds());
    entry.height = tip_.height;
    if (Refusal refusal = check_spending(candidate, spent)) return refusal;
    if (Refusal refusal = check_entry(entry, rules)) return refusal;
    if (Refusal refusal = find_ancestors(candidate, rules)) return refusal;
    return check_topology(candidate, rules);
}

Refusal CandidateChecks::check_alone(const MempoolTransaction& transaction) const {
    const MempoolPolicy& policy = pool_.options().policy;
    std::vector<Outpoint> scratch;
    if (const char* broken = check_transaction(transaction.view(), scratch))
        return refuse(broken, {}, Kind::invalid);
    if (transaction.view().is_coinbase()) return refuse("coinbase", {}, Kind::invalid);
    if (policy.require_standard) {
        if (std::string broken = check_standard(transaction.view(), policy); !broken.empty())
            return refuse(std::move(broken));
    }
    if (transaction.view().stripped_size() < kMinStrippedSize) return refuse("tx-size-small");
    if (!is_final_on(transaction, tip_)) return refuse("non-final");
    if (pool_.graph().find(transaction.wtxid()) != nullptr) return refuse("txn-already-in-mempool");
    if (pool_.graph().find(transaction.txid()) != nullptr)
        return refuse("txn-same-nonwitness-data-in-mempool");
    return std::nullopt;
}

Refusal CandidateChecks::find_conflicts(MempoolCandidate& candidate, const AcceptRules& rules) const {
    for (const Outpoint& outpoint : candidate.transaction->spends()) {
        MempoolEntry* const other = pool_.graph().spender(outpoint);
        if (other == nullptr) continue;
        if (!rules.may_replace) return refuse("bip125-replacement-disallowed");
        const bool replaceable = pool_.options().policy.full_replacement ||
                                 other->transaction->signals_replacement() ||
                                 other->transaction->version() == kTrucVersion;
        if (!replaceable) return refuse("txn-mempool-conflict");
        candidate.conflicts.insert(other);
    }
    return std::nullopt;
}

Result<std::optional<Coin>> CandidateChecks::find_coin(const Outpoint& outpoint) const {
    const auto assumed = assumed_.find(outpoint.txid);
    const MempoolEntry* const entry = pool_.graph().find(outpoint.txid);
    if (assumed != assumed_.end() || entry != nullptr) {
        auto coin =
            (assumed != assumed_.end() ? assumed->second : entry->transaction)->output(outpoint.position);
        if (coin) coin->height = tip_.height.next();
        return coin;
    }
    if (auto there = pool_.options().coins->available(); !there) return forward_error(there);
    auto coin = pool_.options().coins->find(outpoint);
    if (coin) return std::move(*coin);
    if (coin.error().code == Errc::not_found) return std::nullopt;
    return forward_error(coin);
}

Result<bool> CandidateChecks::is_confirmed(const Outpoint& outpoint) const {
    if (auto there = pool_.options().coins->available(); !there) return forward_error(there);
    const auto coin = pool_.options().coins->find(outpoint);
    if (coin) return true;
    if (coin.error().code == Errc::not_found) return false;
    return std::unexpected(coin.error());
}

Result<Refusal> CandidateChecks::gather_spent(const MempoolTransaction& transaction,
                                              SpentCoins& spent) const {
    for (const Outpoint& outpoint : transaction.spends()) {
        auto coin = find_coin(outpoint);
        if (!coin) return forward_error(coin);
        if (*coin) {
            spent.push_back(std::move(**coin));
            continue;
        }
        // It may be missing because the transaction itself is in the chain.
        for (std::uint32_t i = 0; i < transaction.output_count(); ++i) {
            auto known = is_confirmed({.txid = transaction.txid(), .position = i});
            if (!known) return forward_error(known);
            if (*known) return refuse("txn-already-known");
        }
        return refuse("bad-txns-inputs-missingorspent", {}, Kind::missing_inputs);
    }
    return std::nullopt;
}

Refusal CandidateChecks::check_spending(MempoolCandidate& candidate, const SpentCoins& spent) const {
    const TransactionView& view = candidate.transaction->view();
    MempoolEntry& entry = *candidate.entry;
    std::vector<Height> heights;
    for (const Coin& coin : spent) heights.push_back(coin.height);
    entry.lock_points = lock_points_of(*candidate.transaction, heights, tip_);
    if (!are_locks_over(entry.lock_points, tip_)) return refuse("non-BIP68-final");
    const Height spend_height = tip_.height.next();
    if (std::string broken = check_inputs(view, spent, spend_height, entry.fee); !broken.empty()) {
        std::string details = check_inputs_message(broken, view, spent, spend_height);
        const bool matures = broken == "bad-txns-premature-spend-of-coinbase";
        return refuse(std::move(broken), std::move(details), matures ? Kind::final : Kind::invalid);
    }
    const MempoolPolicy& policy = pool_.options().policy;
    if (policy.require_standard) {
        if (!are_inputs_standard(view, spent)) return refuse("bad-txns-nonstandard-inputs");
        if (view.has_witness() && !is_witness_standard(view, spent)) return refuse("bad-witness-nonstandard");
    }
    entry.modified_fee = entry.fee + pool_.delta_of(candidate.transaction->txid());
    entry.sigops_cost = sigops_cost(view, spent);
    entry.vsize = policy_vsize(view.weight(), entry.sigops_cost, policy.bytes_per_sigop);
    entry.spends_coinbase = std::ranges::any_of(spent, &Coin::coinbase);
    return std::nullopt;
}

Refusal CandidateChecks::check_entry(const MempoolEntry& entry, const AcceptRules& rules) {
    if (entry.sigops_cost > kMaxStandardSigopsCost)
        return refuse("bad-txns-too-many-sigops", fmt::format("{}", entry.sigops_cost));
    if (rules.bypass_limits) return std::nullopt;
    // Not even a child may pay for one below the least fee that is relayed, unless it is bound to be alone
    // with that child.
    const Amount least = pool_.options().policy.min_relay.fee_for(entry.vsize);
    if (entry.transaction->version() != kTrucVersion && entry.modified_fee < least)
        return refuse("min relay fee not met", fmt::format("{} < {}", entry.modified_fee, least));
    if (!rules.package_fee) return check_fee(entry.vsize, entry.modified_fee);
    return std::nullopt;
}

Refusal CandidateChecks::check_fee(std::int64_t vsize, Amount fee) {
    const Amount least = pool_.min_fee().fee_for(vsize);
    if (least > 0 && fee < least)
        return refuse("mempool min fee not met", fmt::format("{} < {}", fee, least), Kind::reconsiderable);
    const Amount relayed = pool_.options().policy.min_relay.fee_for(vsize);
    if (fee < relayed)
        return refuse("min relay fee not met", fmt::format("{} < {}", fee, relayed), Kind::reconsiderable);
    return std::nullopt;
}

Refusal CandidateChecks::find_ancestors(MempoolCandidate& candidate, const AcceptRules& rules) const {
    const MempoolTransaction& transaction = *candidate.transaction;
    const std::int64_t vsize = candidate.entry->vsize;
    MempoolFamilyLimits limits = pool_.options().policy.limits;
    if (candidate.conflicts.size() == 1 && rules.carve_out) {
        // What it replaces no longer counts; what each of several replaces cannot be said before they are in.
        limits.descendant_count += 1;
        limits.descendant_vsize += (*candidate.conflicts.begin())->descendants.vsize;
    }
    auto ancestors = pool_.graph().ancestors_of(transaction, vsize, limits);
    if (!ancestors) {
        const std::string details = ancestors.error();
        const bool small = vsize <= kCarveOutVsize && transaction.version() != kTrucVersion;
        if (!rules.carve_out || !small) return refuse("too-long-mempool-chain", details);
        // Either side of a payment channel can add its child: one more, with a single ancestor.
        limits.ancestor_count = 2;
        limits.descendant_count += 1;
        limits.descendant_vsize += kCarveOutVsize;
        ancestors = pool_.graph().ancestors_of(transaction, vsize, limits);
        if (!ancestors) return refuse("too-long-mempool-chain", details);
    }
    candidate.ancestors = std::move(*ancestors);
    return std::nullopt;
}

Refusal CandidateChecks::check_topology(MempoolCandidate& candidate, const AcceptRules& rules) const {
    const auto violation = check_truc(*candidate.transaction, candidate.entry->vsize, pool_.graph(),
                                      candidate.ancestors, candidate.conflicts);
    if (violation) {
        if (!rules.may_evict_sibling || violation->sibling == nullptr)
            return refuse("TRUC-violation", violation->details);
        candidate.conflicts.insert(violation->sibling);
        candidate.evicts_sibling = true;
    }
    const MempoolEntry* shared = nullptr;
    if (share_an_entry(candidate.ancestors, candidate.conflicts, shared)) {
        return refuse("bad-txns-spends-conflicting-tx",
                      fmt::format("{} spends conflicting transaction {}",
                                  candidate.transaction->txid().display_hex(), shared->txid().display_hex()));
    }
    return std::nullopt;
}

}  // namespace blockpub
