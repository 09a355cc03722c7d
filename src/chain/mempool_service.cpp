// SPDX-License-Identifier: MIT
#include "chain/mempool_service.hpp"

#include <algorithm>
#include <utility>

namespace blockpub {
namespace {

/// Transactions of a file that one piece of the chain thread's work takes in.
constexpr std::size_t kLoadedAtOnce = 100;

/// Runs `work` on the chain thread and brings its outcome back.
template <class T, class Work>
Result<T> outcome_of(Chain& chain, Work&& work) {
    std::optional<T> outcome;
    auto done = chain.on_mempool([&](const HeaderNode& tip) -> Result<void> {
        Result<T> got = work(tip);
        if (!got) return std::unexpected(std::move(got.error()));
        outcome.emplace(std::move(*got));
        return {};
    });
    if (!done) return std::unexpected(std::move(done.error()));
    return std::move(*outcome);
}

}  // namespace

Result<SendOutcome> MempoolService::send(const TransactionRef& transaction, std::optional<Amount> max_fee) {
    return outcome_of<SendOutcome>(
        chain_, [&](const HeaderNode& tip) { return mempool_.send(transaction, max_fee, tip); });
}

Result<TransactionOutcome> MempoolService::accept(const TransactionRef& transaction,
                                                  const AcceptRules& rules) {
    return outcome_of<TransactionOutcome>(
        chain_, [&](const HeaderNode& tip) { return mempool_.accept(transaction, rules, tip); });
}

Result<PackageOutcome> MempoolService::test(const std::vector<TransactionRef>& transactions) {
    return outcome_of<PackageOutcome>(chain_, [&](const HeaderNode& tip) -> Result<PackageOutcome> {
        if (transactions.size() > 1) return mempool_.test_package(transactions, tip);
        auto outcome = mempool_.accept(transactions.front(), {.test = true}, tip);
        if (!outcome) return forward_error(outcome);
        PackageOutcome alone;
        alone.outcomes.emplace(transactions.front()->wtxid(), std::move(*outcome));
        return alone;
    });
}

Result<PackageOutcome> MempoolService::submit_package(const std::vector<TransactionRef>& package,
                                                      std::optional<FeeRate> max_rate) {
    return outcome_of<PackageOutcome>(
        chain_, [&](const HeaderNode& tip) { return mempool_.submit_package(package, max_rate, tip); });
}

Result<void> MempoolService::forget_unbroadcast(const Txid& txid) {
    return chain_.on_mempool([&](const HeaderNode&) -> Result<void> {
        mempool_.pool().remove_unbroadcast(txid);
        return {};
    });
}

Result<MempoolFileContents> MempoolService::contents() {
    return outcome_of<MempoolFileContents>(
        chain_, [&](const HeaderNode&) -> Result<MempoolFileContents> { return contents_at_end(); });
}

MempoolFileContents MempoolService::contents_at_end() {
    MempoolFileContents contents;
    const MempoolPool& pool = mempool_.pool();
    contents.fee_deltas = pool.deltas();
    contents.unbroadcast = pool.unbroadcast();
    // The board shows what the pool holds, and in the order wanted.
    for (const MempoolRow& row : board_.all().rows) {
        const Txid& txid = row.transaction->txid();
        contents.items.push_back(
            {.transaction = row.transaction, .time = row.time, .fee_delta = pool.delta_of(txid)});
        contents.fee_deltas.erase(txid);
    }
    return contents;
}

Result<MempoolLoadCounts> MempoolService::load(const MempoolFileContents& contents,
                                               const std::function<bool()>& stop) {
    MempoolLoadCounts counts;
    for (std::size_t first = 0; first < contents.items.size(); first += kLoadedAtOnce) {
        if (stop && stop()) return fail(Errc::stopped, "shutting down");
        const std::size_t end = std::min(first + kLoadedAtOnce, contents.items.size());
        if (auto loaded = load_some(contents, first, end, counts); !loaded) return forward_error(loaded);
    }
    auto rest = chain_.on_mempool([&](const HeaderNode&) -> Result<void> {
        MempoolPool& pool = mempool_.pool();
        for (const auto& [txid, delta] : contents.fee_deltas) pool.prioritise(txid, delta);
        for (const Txid& txid : contents.unbroadcast) {
            if (pool.graph().find(txid) == nullptr) continue;
            pool.add_unbroadcast(txid);
            ++counts.unbroadcast;
        }
        return {};
    });
    if (!rest) return forward_error(rest);
    return counts;
}

Result<void> MempoolService::load_some(const MempoolFileContents& contents, std::size_t first,
                                       std::size_t end, MempoolLoadCounts& counts) {
    return chain_.on_mempool([&](const HeaderNode& tip) -> Result<void> {
        MempoolPool& pool = mempool_.pool();
        const std::int64_t oldest = options_.clock->now_seconds() - options_.expiry.count();
        for (std::size_t i = first; i < end; ++i) {
            const MempoolFileContents::Item& item = contents.items[i];
            if (item.fee_delta != 0) pool.prioritise(item.transaction->txid(), item.fee_delta);
            if (item.time <= oldest) {
                ++counts.expired;
                continue;
            }
            auto outcome = mempool_.accept(item.transaction, {.time = item.time}, tip);
            if (!outcome) return forward_error(outcome);
            if (outcome->accepted()) {
                ++counts.accepted;
            } else {
                const bool there = pool.graph().find(item.transaction->txid()) != nullptr;
                ++(there ? counts.already_there : counts.refused);
            }
        }
        return {};
    });
}

Result<void> MempoolService::set_loaded() {
    return chain_.on_mempool([&](const HeaderNode&) -> Result<void> {
        mempool_.set_loaded();
        return {};
    });
}

}  // namespace blockpub
