// SPDX-License-Identifier: MIT
#include "chain/mempool_acceptance.hpp"
#include "chain/mempool_replacement.hpp"
#include "chain/mempool_truc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

// Source: Bitcoin Core v28.1 src/policy/packages.cpp; src/validation.cpp, AcceptMultipleTransactions and
// AcceptPackage.

namespace blockpub {
namespace {

using Kind = TransactionRefusal::Kind;
using State = PackageOutcome::State;

constexpr std::size_t kMaxPackageCount = 25;
constexpr std::size_t kMaxPackageWeight = 404'000;
constexpr std::size_t kReplacingPackageCount = 2;

constexpr AcceptRules kTestRules{
    .test = true, .may_replace = false, .may_evict_sibling = false, .carve_out = false};
constexpr AcceptRules kFamilyRules{
    .may_evict_sibling = false, .carve_out = false, .in_package = true, .package_fee = true};

bool is_sorted(std::span<const TransactionRef> package) {
    std::set<Txid> later;
    for (const TransactionRef& transaction : package) later.insert(transaction->txid());
    for (const TransactionRef& transaction : package) {
        for (const Outpoint& outpoint : transaction->spends()) {
            if (later.contains(outpoint.txid)) return false;
        }
        later.erase(transaction->txid());
    }
    return true;
}

bool is_consistent(std::span<const TransactionRef> package) {
    std::set<Outpoint> spent;
    for (const TransactionRef& transaction : package) {
        if (transaction->spends().empty()) return false;
        for (const Outpoint& outpoint : transaction->spends()) {
            if (spent.contains(outpoint)) return false;
        }
        // What one transaction spends twice is its own fault, and told as such.
        spent.insert(transaction->spends().begin(), transaction->spends().end());
    }
    return true;
}

}  // namespace

std::string check_package(std::span<const TransactionRef> package) {
    if (package.size() > kMaxPackageCount) return "package-too-many-transactions";
    std::size_t weight = 0;
    std::set<Txid> txids;
    for (const TransactionRef& transaction : package) {
        weight += transaction->weight();
        txids.insert(transaction->txid());
    }
    if (package.size() > 1 && weight > kMaxPackageWeight) return "package-too-large";
    if (txids.size() != package.size()) return "package-contains-duplicates";
    if (!is_sorted(package)) return "package-not-sorted";
    if (!is_consistent(package)) return "conflict-in-package";
    return {};
}

bool is_child_with_parents(std::span<const TransactionRef> package) {
    if (package.size() < 2) return false;
    std::set<Txid> spent_from;
    for (const Outpoint& outpoint : package.back()->spends()) spent_from.insert(outpoint.txid);
    return std::ranges::all_of(package.first(package.size() - 1), [&](const TransactionRef& transaction) {
        return spent_from.contains(transaction->txid());
    });
}

bool is_child_with_parents_tree(std::span<const TransactionRef> package) {
    if (!is_child_with_parents(package)) return false;
    const auto parents = package.first(package.size() - 1);
    std::set<Txid> txids;
    for (const TransactionRef& parent : parents) txids.insert(parent->txid());
    return std::ranges::none_of(parents, [&](const TransactionRef& parent) {
        return std::ranges::any_of(parent->spends(),
                                   [&](const Outpoint& outpoint) { return txids.contains(outpoint.txid); });
    });
}

Result<PackageOutcome> MempoolAcceptance::test_package(std::span<const TransactionRef> package) {
    return accept_together(package, kTestRules);
}

/// All of the transactions or none, in the order given.
Result<PackageOutcome> MempoolAcceptance::accept_together(std::span<const TransactionRef> package,
                                                          const AcceptRules& rules) {
    PackageOutcome outcome;
    if (std::string broken = check_package(package); !broken.empty()) {
        outcome.refuse(State::policy, std::move(broken));
        return outcome;
    }
    CandidateChecks checks(pool_, tip_);
    Together together;
    for (const TransactionRef& transaction : package)
        together.candidates.push_back({.transaction = transaction});
    auto passed = check_each(checks, together, rules, outcome);
    if (!passed) return forward_error(passed);
    if (!*passed || !check_all(checks, package, together, rules, outcome)) return outcome;
    const FeeRate rate = FeeRate::of(together.modified_fee, together.vsize);
    for (const MempoolCandidate& candidate : together.candidates) {
        TransactionOutcome taken;
        taken.vsize = candidate.entry->vsize;
        taken.fee = candidate.entry->fee;
        taken.effective_rate = rules.package_fee ? rate : candidate.rate();
        if (!rules.package_fee) taken.judged_with = {candidate.transaction->wtxid()};
        if (rules.package_fee) {
            for (const TransactionRef& other : package) taken.judged_with.push_back(other->wtxid());
        }
        outcome.outcomes.emplace(candidate.transaction->wtxid(), std::move(taken));
    }
    if (!rules.test) add_together(together, outcome);
    return outcome;
}

/// Each by itself, the earlier ones taken for granted. Result: false when one is refused.
Result<bool> MempoolAcceptance::check_each(CandidateChecks& checks, Together& together,
                                           const AcceptRules& rules, PackageOutcome& outcome) {
    for (MempoolCandidate& candidate : together.candidates) {
        auto refusal = checks.check(candidate, rules);
        if (!refusal) return forward_error(refusal);
        if (!*refusal && rules.max_rate && candidate.rate() > *rules.max_rate)
            *refusal = refuse("max feerate exceeded");
        if (*refusal) {
            outcome.refuse(State::transaction, "transaction failed");
            outcome.outcomes.emplace(candidate.transaction->wtxid(),
                                     TransactionOutcome::of(std::move(**refusal)));
            return false;
        }
        checks.assume(candidate.transaction);
        together.vsize += candidate.entry->vsize;
        together.modified_fee += candidate.entry->modified_fee;
    }
    return true;
}

/// All of them as one: families, fee, limits, replacement. Result: false when refused.
bool MempoolAcceptance::check_all(CandidateChecks& checks, std::span<const TransactionRef> package,
                                  Together& together, const AcceptRules& rules, PackageOutcome& outcome) {
    for (const MempoolCandidate& candidate : together.candidates) {
        auto broken = check_truc_in_package(*candidate.transaction, candidate.entry->vsize, package,
                                            candidate.ancestors);
        if (!broken) continue;
        outcome.refuse(State::policy, "TRUC-violation", std::move(*broken));
        return false;
    }
    if (rules.package_fee) {
        if (Refusal refusal = checks.check_fee(together.vsize, together.modified_fee)) {
            outcome.refuse(State::transaction, "transaction failed");
            outcome.outcomes.emplace(package.back()->wtxid(), TransactionOutcome::of(std::move(*refusal)));
            return false;
        }
    }
    if (package.size() == 1) return true;
    auto ancestors =
        pool_.graph().ancestors_of_package(package, together.vsize, pool_.options().policy.limits);
    if (!ancestors) {
        outcome.refuse(State::policy, "package-mempool-limits", std::move(ancestors.error()));
        return false;
    }
    const bool replaces = std::ranges::any_of(
        together.candidates, [](const MempoolCandidate& candidate) { return !candidate.conflicts.empty(); });
    return !replaces || check_package_replacement(package, together, outcome);
}

/// A parent and its child may replace others together.
bool MempoolAcceptance::check_package_replacement(std::span<const TransactionRef> package, Together& together,
                                                  PackageOutcome& outcome) {
    const auto broken = [&](const std::string& what, std::string details = {}) {
        outcome.refuse(State::policy, "package RBF failed: " + what, std::move(details));
        return false;
    };
    if (package.size() != kReplacingPackageCount || !is_child_with_parents(package))
        return broken("package must be 1-parent-1-child");
    MempoolEntrySet direct;
    for (const MempoolCandidate& candidate : together.candidates) {
        if (!candidate.ancestors.empty()) return broken("new transaction cannot have mempool ancestors");
        direct.insert(candidate.conflicts.begin(), candidate.conflicts.end());
    }
    const MempoolCandidate& parent = together.candidates.front();
    const Txid& child_txid = package.back()->txid();
    if (auto why = collect_replaced(pool_.graph(), child_txid, direct, together.replaced))
        return broken("too many potential replacements", std::move(*why));
    if (auto why = pays_for_replacement(together.replaced, together.modified_fee, together.vsize,
                                        pool_.options().policy.incremental, child_txid)) {
        return broken("insufficient anti-DoS fees", std::move(*why));
    }
    const FeeRate rate = FeeRate::of(together.modified_fee, together.vsize);
    if (rate <= parent.rate()) {
        return broken(
            "package feerate is less than or equal to parent feerate",
            fmt::format("package feerate {} <= parent feerate is {}", rate.text(), parent.rate().text()));
    }
    if (auto why = improves_mempool(direct, together.replaced, together.modified_fee, together.vsize))
        return broken(*why);
    return true;
}

void MempoolAcceptance::add_together(Together& together, PackageOutcome& outcome) {
    const auto own_limits = MempoolFamilyLimits::none();
    for (MempoolCandidate& candidate : together.candidates) {
        // Those before it are in the mempool now.
        auto ancestors =
            pool_.graph().ancestors_of(*candidate.transaction, candidate.entry->vsize, own_limits);
        candidate.ancestors = std::move(*ancestors);
        outcome.outcomes.at(candidate.transaction->wtxid()).replaced = put(candidate, together.replaced);
    }
    for (const MempoolCandidate& candidate : together.candidates) pool_.announce(candidate.transaction);
}

/// What submit_package finds out on its way.
struct MempoolAcceptance::Submission {
    std::map<Wtxid, TransactionOutcome> done;       ///< in the mempool, by itself or from before
    std::map<Wtxid, TransactionOutcome> by_itself;  ///< refused when it was tried alone
    std::vector<TransactionRef> together;           ///< to be tried as a package
    bool hopeless = false;
};

Result<bool> MempoolAcceptance::check_child(std::span<const TransactionRef> package,
                                            PackageOutcome& outcome) {
    if (std::string broken = check_package(package); !broken.empty()) {
        outcome.refuse(State::policy, std::move(broken));
        return false;
    }
    if (!is_child_with_parents(package)) {
        outcome.refuse(State::policy, "package-not-child-with-parents");
        return false;
    }
    std::set<Txid> parents;
    for (const TransactionRef& parent : package.first(package.size() - 1)) parents.insert(parent->txid());
    const CandidateChecks checks(pool_, tip_);
    for (const Outpoint& outpoint : package.back()->spends()) {
        if (parents.contains(outpoint.txid)) continue;
        const auto confirmed = checks.is_confirmed(outpoint);
        if (!confirmed) return std::unexpected(confirmed.error());
        if (*confirmed) continue;
        outcome.refuse(State::policy, "package-not-child-with-unconfirmed-parents");
        return false;
    }
    return true;
}

Result<void> MempoolAcceptance::submit_each(std::span<const TransactionRef> package,
                                            std::optional<FeeRate> max_rate, Submission& submission) {
    const AcceptRules alone{.carve_out = false, .in_package = true, .max_rate = max_rate};
    for (const TransactionRef& transaction : package) {
        const Wtxid& wtxid = transaction->wtxid();
        if (const MempoolEntry* const there = pool_.graph().find(transaction->txid())) {
            TransactionOutcome outcome;
            const bool same = there->transaction->wtxid() == wtxid;
            outcome.kind =
                same ? TransactionOutcome::Kind::already_there : TransactionOutcome::Kind::different_witness;
            outcome.vsize = there->vsize;
            outcome.fee = there->fee;
            outcome.other_wtxid = there->transaction->wtxid();
            submission.done.emplace(wtxid, std::move(outcome));
            continue;
        }
        auto outcome = accept(transaction, alone);
        if (!outcome) return forward_error(outcome);
        if (outcome->accepted()) {
            submission.done.emplace(wtxid, std::move(*outcome));
            continue;
        }
        // Others cannot help against anything but a low fee, or a parent that has one.
        if (outcome->refusal.kind == Kind::final || outcome->refusal.kind == Kind::invalid) {
            submission.hopeless = true;
        } else {
            submission.together.push_back(transaction);
        }
        submission.by_itself.emplace(wtxid, std::move(*outcome));
    }
    return {};
}

Result<PackageOutcome> MempoolAcceptance::submit_package(std::span<const TransactionRef> package,
                                                         std::optional<FeeRate> max_rate) {
    PackageOutcome outcome;
    auto fits = check_child(package, outcome);
    if (!fits) return forward_error(fits);
    if (!*fits) return outcome;
    Submission submission;
    if (auto submitted = submit_each(package, max_rate, submission); !submitted)
        return forward_error(submitted);
    if (submission.hopeless) {
        outcome.refuse(State::transaction, "transaction failed");
    } else if (submission.together.size() == 1) {
        const AcceptRules alone{.carve_out = false, .in_package = true, .max_rate = max_rate};
        auto again = accept(submission.together.front(), alone);
        if (!again) return forward_error(again);
        if (!again->accepted()) outcome.refuse(State::transaction, "transaction failed");
        outcome.outcomes.emplace(submission.together.front()->wtxid(), std::move(*again));
    } else if (!submission.together.empty()) {
        AcceptRules family = kFamilyRules;
        family.max_rate = max_rate;
        auto together = accept_together(submission.together, family);
        if (!together) return forward_error(together);
        outcome = std::move(*together);
    }
    pool_.limit_size();
    std::map<Wtxid, TransactionOutcome> outcomes;
    for (const TransactionRef& transaction : package) {
        const Wtxid& wtxid = transaction->wtxid();
        const auto tried = outcome.outcomes.find(wtxid);
        const auto done = submission.done.find(wtxid);
        const bool was_taken = (tried != outcome.outcomes.end() && tried->second.accepted()) ||
                               (tried == outcome.outcomes.end() && done != submission.done.end());
        TransactionOutcome final_outcome;
        if (tried != outcome.outcomes.end()) {
            final_outcome = std::move(tried->second);
        } else if (done != submission.done.end()) {
            final_outcome = std::move(done->second);
        } else if (const auto alone = submission.by_itself.find(wtxid); alone != submission.by_itself.end()) {
            final_outcome = std::move(alone->second);
        } else {
            continue;
        }
        if (was_taken && pool_.graph().find(transaction->txid()) == nullptr) {
            outcome.refuse(State::transaction, "transaction failed");
            final_outcome = TransactionOutcome::of(refuse("mempool full"));
        }
        outcomes.emplace(wtxid, std::move(final_outcome));
    }
    outcome.outcomes = std::move(outcomes);
    return outcome;
}

}  // namespace blockpub
