// SPDX-License-Identifier: MIT
#include "chain/mempool_service.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace blockpub {
namespace {

/// Transactions of a file that one piece of the chain thread's work takes in.
constexpr std::size_t kLoadedAtOnce = 100;

/// Runs `work` on the chain thread and brings its outcome back. `work` must own what it uses but for the
/// mempool: see Chain::on_mempool.
template <class T, class Work>
Result<T> outcome_of(Chain& chain, Work work) {
    const auto outcome = std::make_shared<std::optional<T>>();
    auto done =
        chain.on_mempool([outcome, work = std::move(work)](const HeaderNode& tip) mutable -> Result<void> {
            Result<T> got = work(tip);
            if (!got) return std::unexpected(std::move(got.error()));
            outcome->emplace(std::move(*got));
            return {};
        });
    if (!done) return std::unexpected(std::move(done.error()));
    return std::move(**outcome);
}

}  // namespace

Result<SendOutcome> MempoolService::send(const TransactionRef& transaction, std::optional<Amount> max_fee) {
    return outcome_of<SendOutcome>(chain_,
                                   [&mempool = mempool_, transaction, max_fee](const HeaderNode& tip) {
                                       return mempool.send(transaction, max_fee, tip);
                                   });
}

Result<TransactionOutcome> MempoolService::accept(const TransactionRef& transaction,
                                                  const AcceptRules& rules) {
    return outcome_of<TransactionOutcome>(chain_,
                                          [&mempool = mempool_, transaction, rules](const HeaderNode& tip) {
                                              return mempool.accept(transaction, rules, tip);
                                          });
}

Result<void> MempoolService::post(std::vector<TransactionRef> transactions,
                                  std::function<void(Outcomes)> done, const AcceptRules& rules) {
    return chain_.post_mempool([&mempool = mempool_, transactions = std::move(transactions),
                                done = std::move(done), rules](const HeaderNode& tip) -> Result<void> {
        Outcomes outcomes;
        outcomes.reserve(transactions.size());
        for (const TransactionRef& transaction : transactions)
            outcomes.push_back(mempool.accept(transaction, rules, tip));
        done(std::move(outcomes));
        return {};
    });
}

Result<SendOutcome> MempoolService::test_send(const TransactionRef& transaction,
                                              std::optional<Amount> max_fee) {
    return outcome_of<SendOutcome>(chain_,
                                   [&mempool = mempool_, transaction, max_fee](const HeaderNode& tip) {
                                       return mempool.test_send(transaction, max_fee, tip);
                                   });
}

Result<PackageOutcome> MempoolService::test(const std::vector<TransactionRef>& transactions) {
    return outcome_of<PackageOutcome>(
        chain_, [&mempool = mempool_, transactions](const HeaderNode& tip) -> Result<PackageOutcome> {
            if (transactions.size() > 1) return mempool.test_package(transactions, tip);
            auto outcome = mempool.accept(transactions.front(), {.test = true}, tip);
            if (!outcome) return forward_error(outcome);
            PackageOutcome alone;
            alone.outcomes.emplace(transactions.front()->wtxid(), std::move(*outcome));
            return alone;
        });
}

Result<PackageOutcome> MempoolService::submit_package(const std::vector<TransactionRef>& package,
                                                      std::optional<FeeRate> max_rate) {
    return outcome_of<PackageOutcome>(chain_,
                                      [&mempool = mempool_, package, max_rate](const HeaderNode& tip) {
                                          return mempool.submit_package(package, max_rate, tip);
                                      });
}

Result<void> MempoolService::prioritise(const Txid& txid, Amount delta) {
    return chain_.on_mempool([&mempool = mempool_, txid, delta](const HeaderNode&) -> Result<void> {
        mempool.pool().prioritise(txid, delta);
        return {};
    });
}

MempoolFileContents MempoolService::contents() const {
    MempoolBoard::All all = board_.all();
    MempoolFileContents contents;
    contents.fee_deltas = std::move(all.deltas);
    for (const MempoolRow& row : all.rows) {
        const Txid& txid = row.transaction->txid();
        const auto delta = contents.fee_deltas.extract(txid);
        contents.items.push_back({.transaction = row.transaction,
                                  .time = row.time,
                                  .fee_delta = delta.empty() ? 0 : delta.mapped()});
        if (row.unbroadcast) contents.unbroadcast.insert(txid);
    }
    return contents;
}

Result<MempoolLoadCounts> MempoolService::load(const MempoolFileContents& contents,
                                               const std::function<bool()>& stop) {
    MempoolLoadCounts counts;
    for (std::size_t first = 0; first < contents.items.size(); first += kLoadedAtOnce) {
        if (stop && stop()) return fail(Errc::stopped, "shutting down");
        const std::size_t count = std::min(kLoadedAtOnce, contents.items.size() - first);
        const auto begin = contents.items.begin() + static_cast<std::ptrdiff_t>(first);
        const auto loaded = load_some({begin, begin + static_cast<std::ptrdiff_t>(count)});
        if (!loaded) return loaded;
        counts.accepted += loaded->accepted;
        counts.refused += loaded->refused;
        counts.expired += loaded->expired;
        counts.already_there += loaded->already_there;
    }
    const auto unbroadcast = load_marks(contents);
    if (!unbroadcast) return std::unexpected(unbroadcast.error());
    counts.unbroadcast = *unbroadcast;
    return counts;
}

Result<std::uint64_t> MempoolService::load_marks(const MempoolFileContents& contents) {
    return outcome_of<std::uint64_t>(
        chain_,
        [&mempool = mempool_, deltas = contents.fee_deltas,
         unbroadcast = contents.unbroadcast](const HeaderNode&) -> Result<std::uint64_t> {
            MempoolPool& pool = mempool.pool();
            for (const auto& [txid, delta] : deltas) pool.prioritise(txid, delta);
            std::uint64_t marked = 0;
            for (const Txid& txid : unbroadcast) {
                if (pool.graph().find(txid) == nullptr) continue;
                pool.add_unbroadcast(txid);
                ++marked;
            }
            return marked;
        });
}

Result<MempoolLoadCounts> MempoolService::load_some(std::vector<MempoolFileContents::Item> items) {
    const std::int64_t oldest = options_.clock->now_seconds() - options_.expiry.count();
    return outcome_of<MempoolLoadCounts>(
        chain_,
        [&mempool = mempool_, items = std::move(items),
         oldest](const HeaderNode& tip) -> Result<MempoolLoadCounts> {
            MempoolPool& pool = mempool.pool();
            MempoolLoadCounts counts;
            for (const MempoolFileContents::Item& item : items) {
                if (item.fee_delta != 0) pool.prioritise(item.transaction->txid(), item.fee_delta);
                if (item.time <= oldest) {
                    ++counts.expired;
                    continue;
                }
                const auto outcome = mempool.accept(item.transaction, {.time = item.time}, tip);
                if (!outcome) return std::unexpected(outcome.error());
                if (outcome->accepted()) {
                    ++counts.accepted;
                } else {
                    const bool there = pool.graph().find(item.transaction->txid()) != nullptr;
                    ++(there ? counts.already_there : counts.refused);
                }
            }
            return counts;
        });
}

Result<void> MempoolService::set_loaded() {
    return chain_.on_mempool([&mempool = mempool_](const HeaderNode&) -> Result<void> {
        mempool.set_loaded();
        return {};
    });
}

}  // namespace blockpub
