// SPDX-License-Identifier: MIT
#pragma once

#include "chain/mempool_candidate.hpp"

#include <span>
#include <vector>

namespace blockpub {

/// Takes transactions into the mempool, one by one or several together.
///
/// Thread safety: chain thread only; one object for one tip.
/// Ownership: borrows pool and tip.
/// Blocking: reads coins.
/// Errors: corrupt, io, of the coins; nothing has changed then, but for a package's earlier transactions.
/// Source: Bitcoin Core v28.1 src/validation.cpp, MemPoolAccept.  Differs: scripts are not run.
class MempoolAcceptance {
 public:
    MempoolAcceptance(MempoolPool& pool, const HeaderNode& tip) : pool_(pool), tip_(tip) {}

    [[nodiscard]] Result<TransactionOutcome> accept(const TransactionRef& transaction,
                                                    const AcceptRules& rules = {});
    /// testmempoolaccept of several, parents before children.
    [[nodiscard]] Result<PackageOutcome> test_package(std::span<const TransactionRef> package);
    /// submitpackage: a child, the last one, and its parents.
    [[nodiscard]] Result<PackageOutcome> submit_package(std::span<const TransactionRef> package,
                                                        std::optional<FeeRate> max_rate);

 private:
    /// What a transaction's own acceptance, or its package's, is to replace.
    struct Together {
        std::vector<MempoolCandidate> candidates;
        MempoolEntrySet replaced;
        std::int64_t vsize = 0;
        Amount modified_fee = 0;
    };
    struct Submission;

    [[nodiscard]] Result<PackageOutcome> accept_together(std::span<const TransactionRef> package,
                                                         const AcceptRules& rules);
    [[nodiscard]] Result<bool> check_each(CandidateChecks& checks, Together& together,
                                          const AcceptRules& rules, PackageOutcome& outcome);
    [[nodiscard]] bool check_all(CandidateChecks& checks, std::span<const TransactionRef> package,
                                 Together& together, const AcceptRules& rules, PackageOutcome& outcome);
    [[nodiscard]] bool check_package_replacement(std::span<const TransactionRef> package, Together& together,
                                                 PackageOutcome& outcome);
    void add_together(Together& together, PackageOutcome& outcome);
    [[nodiscard]] Result<bool> check_child(std::span<const TransactionRef> package, PackageOutcome& outcome);
    [[nodiscard]] Result<void> submit_each(std::span<const TransactionRef> package,
                                           std::optional<FeeRate> max_rate, Submission& submission);
    [[nodiscard]] std::vector<Txid> put(MempoolCandidate& candidate, MempoolEntrySet& replaced);

    MempoolPool& pool_;
    const HeaderNode& tip_;
};

/// The first reason for which transactions cannot be a package, in Core's words; empty for none.
[[nodiscard]] std::string check_package(std::span<const TransactionRef> package);
/// Whether all but the last are parents of the last. Requires: check_package found nothing.
[[nodiscard]] bool is_child_with_parents(std::span<const TransactionRef> package);
/// Whether, besides, no parent spends from another.
[[nodiscard]] bool is_child_with_parents_tree(std::span<const TransactionRef> package);

}  // namespace blockpub
