// SPDX-License-Identifier: MIT
#pragma once

#include "chain/header_tree.hpp"
#include "chain/input_checks.hpp"
#include "chain/mempool_outcome.hpp"
#include "chain/mempool_pool.hpp"

#include <blockpub/result.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>

namespace blockpub {

/// How one transaction is to be judged; the defaults are those of one that arrives by itself.
struct AcceptRules {
    bool bypass_limits = false;  ///< it comes from a block: no fee is asked, nothing is evicted
    bool test = false;           ///< nothing is changed
    bool may_replace = true;
    bool may_evict_sibling = true;
    bool carve_out = true;     ///< one small child more than the limit, and room in place of what it replaces
    bool in_package = false;   ///< the size is limited when all of the package is in
    bool package_fee = false;  ///< the package's fee rate counts, not its own
    std::optional<FeeRate> max_rate;
    std::optional<std::int64_t> time;  ///< of arrival; now
};

/// A transaction that has passed the checks of itself, and is not in the mempool yet.
struct MempoolCandidate {
    TransactionRef transaction;
    std::unique_ptr<MempoolEntry> entry;
    MempoolEntrySet ancestors;
    MempoolEntrySet conflicts;  ///< what it would replace, without what depends on that
    bool evicts_sibling = false;

    [[nodiscard]] FeeRate rate() const { return FeeRate::of(entry->modified_fee, entry->vsize); }
};

/// Nothing when all is well.
using Refusal = std::optional<TransactionRefusal>;

/// The lock points of a transaction whose coins were made at `heights`, for a block on top of `tip`.
[[nodiscard]] LockPoints lock_points_of(const MempoolTransaction& transaction,
                                        std::span<const Height> heights, const HeaderNode& tip);
/// Whether a block on top of `tip` may hold the transaction, as far as its relative lock times go.
[[nodiscard]] bool are_locks_over(const LockPoints& points, const HeaderNode& tip);
/// Likewise for its absolute lock time.
[[nodiscard]] bool is_final_on(const MempoolTransaction& transaction, const HeaderNode& tip);

/// All that can be said of a transaction before its scripts would be run.
///
/// Thread safety: chain thread only.
/// Ownership: borrows pool and tip.
/// Blocking: reads coins.
/// Source: Bitcoin Core v28.1 src/validation.cpp, MemPoolAccept::PreChecks.  Differs: scripts are not run.
class CandidateChecks {
 public:
    CandidateChecks(MempoolPool& pool, const HeaderNode& tip) : pool_(pool), tip_(tip) {}

    /// Fills in `candidate` from its transaction. Errors: corrupt, io, of the coins.
    [[nodiscard]] Result<Refusal> check(MempoolCandidate& candidate, const AcceptRules& rules);
    /// Lets later transactions spend the outputs of this one, which is not in the mempool.
    void assume(const TransactionRef& transaction) { assumed_.emplace(transaction->txid(), transaction); }
    /// Whether `fee` is enough for `vsize` while the mempool is as full as it is.
    [[nodiscard]] Refusal check_fee(std::int64_t vsize, Amount fee);
    /// Whether the coins of the chain alone have it. Errors: corrupt, io.
    [[nodiscard]] Result<bool> is_confirmed(const Outpoint& outpoint) const;

 private:
    [[nodiscard]] Refusal check_alone(const MempoolTransaction& transaction) const;
    [[nodiscard]] Refusal find_conflicts(MempoolCandidate& candidate, const AcceptRules& rules) const;
    [[nodiscard]] Result<Refusal> gather_spent(const MempoolTransaction& transaction,
                                               SpentCoins& spent) const;
    [[nodiscard]] Result<std::optional<Coin>> find_coin(const Outpoint& outpoint) const;
    [[nodiscard]] Refusal check_spending(MempoolCandidate& candidate, const SpentCoins& spent) const;
    [[nodiscard]] Refusal check_entry(const MempoolEntry& entry, const AcceptRules& rules);
    [[nodiscard]] Refusal find_ancestors(MempoolCandidate& candidate, const AcceptRules& rules) const;
    [[nodiscard]] Refusal check_topology(MempoolCandidate& candidate, const AcceptRules& rules) const;

    MempoolPool& pool_;
    const HeaderNode& tip_;
    std::map<Txid, TransactionRef> assumed_;
};

}  // namespace blockpub
