// SPDX-License-Identifier: MIT
#include "chain/mempool_acceptance.hpp"

#include "chain/mempool_replacement.hpp"

#include <utility>

namespace blockpub {
namespace {

using Kind = TransactionRefusal::Kind;

TransactionOutcome taken(const MempoolCandidate& candidate) {
    TransactionOutcome outcome;
    outcome.vsize = candidate.entry->vsize;
    outcome.fee = candidate.entry->fee;
    outcome.effective_rate = candidate.rate();
    outcome.judged_with = {candidate.transaction->wtxid()};
    return outcome;
}

}  // namespace

Result<TransactionOutcome> MempoolAcceptance::accept(const TransactionRef& transaction,
                                                     const AcceptRules& rules) {
    CandidateChecks checks(pool_, tip_);
    MempoolCandidate candidate{.transaction = transaction};
    auto refusal = checks.check(candidate, rules);
    if (!refusal) return forward_error(refusal);
    if (*refusal) return TransactionOutcome::of(std::move(**refusal));
    if (rules.max_rate && candidate.rate() > *rules.max_rate)
        return TransactionOutcome::of(refuse("max feerate exceeded"));
    MempoolEntrySet replaced;
    if (!candidate.conflicts.empty()) {
        const Replacement replacement{.transaction = transaction.get(),
                                      .modified_fee = candidate.entry->modified_fee,
                                      .vsize = candidate.entry->vsize,
                                      .evicts_sibling = candidate.evicts_sibling,
                                      .direct = candidate.conflicts};
        if (Refusal broken =
                check_replacement(pool_.graph(), replacement, pool_.options().policy.incremental, replaced)) {
            return TransactionOutcome::of(std::move(*broken));
        }
    }
    TransactionOutcome outcome = taken(candidate);
    if (rules.test) return outcome;
    outcome.replaced = put(candidate, replaced);
    if (!rules.in_package && !rules.bypass_limits) {
        pool_.limit_size();
        if (pool_.graph().find(transaction->txid()) == nullptr)
            return TransactionOutcome::of(refuse("mempool full", {}, Kind::reconsiderable));
    }
    pool_.announce(transaction);
    return outcome;
}

/// Puts the candidate in the place of `replaced`, which is empty afterwards. Result: what had to leave.
std::vector<Txid> MempoolAcceptance::put(MempoolCandidate& candidate, MempoolEntrySet& replaced) {
    std::vector<Txid> left;
    for (const MempoolEntry* entry : replaced) left.push_back(entry->txid());
    pool_.remove(std::exchange(replaced, {}), MempoolRemoval::replaced);
    pool_.add(std::move(candidate.entry), candidate.ancestors);
    return left;
}

}  // namespace blockpub
