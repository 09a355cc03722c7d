// SPDX-License-Identifier: MIT
#include "chain/mempool.hpp"

#include "base/check.hpp"
#include "store/coin_store.hpp"

#include <utility>

namespace blockpub {

Mempool::Mempool(const MempoolOptions& options, MempoolBoard& board)
    : options_(options),
      board_(board),
      log_(options.logger, LogCategory::chain),
      pool_(options),
      disconnected_(options.disconnected_bytes) {}

void Mempool::block_connected(const ParsedBlock& block) {
    for (std::size_t i = 0; i < block.transactions().size(); ++i) {
        const Txid& txid = block.transactions()[i].txid;
        if (MempoolEntry* const entry = pool_.graph().find(txid))
            pool_.remove({entry}, MempoolRemoval::block);
        pool_.remove_conflicts(block.transaction(i), txid);
        pool_.clear_prioritisation(txid);
    }
    pool_.block_connected();
    disconnected_.remove_block(block);
}

void Mempool::block_disconnected(const ParsedBlock& block) {
    disconnecting_ = true;
    for (const TransactionRef& given_up : disconnected_.add_block(block))
        pool_.remove_with_descendants(*given_up, MempoolRemoval::reorg);
}

void Mempool::end_disconnects(const HeaderNode& tip, bool return_to_mempool) {
    if (!std::exchange(disconnecting_, false)) return;
    return_disconnected(tip, return_to_mempool);
    remove_what_no_longer_holds(tip);
    pool_.limit_size();
}

void Mempool::return_disconnected(const HeaderNode& tip, bool return_to_mempool) {
    std::vector<Txid> returned;
    for (const TransactionRef& transaction : disconnected_.take()) {
        bool accepted = false;
        if (return_to_mempool && !transaction->view().is_coinbase()) {
            const auto outcome = accept(transaction, {.bypass_limits = true}, tip);
            if (!outcome) {
                log_.error("transaction {} cannot return to the mempool: {}",
                           transaction->txid().display_hex(), outcome.error().context);
            }
            accepted = outcome && outcome->accepted();
        }
        if (accepted) {
            returned.push_back(transaction->txid());
        } else {
            pool_.remove_with_descendants(*transaction, MempoolRemoval::reorg);
        }
    }
    for (const Txid& txid : pool_.graph().link_returned(returned, options_.policy.limits)) {
        const MempoolEntry* const entry = pool_.graph().find(txid);
        if (entry == nullptr) continue;
        const TransactionRef transaction = entry->transaction;
        pool_.remove_with_descendants(*transaction, MempoolRemoval::size_limit);
    }
}

void Mempool::remove_what_no_longer_holds(const HeaderNode& tip) {
    MempoolEntrySet removed;
    pool_.graph().for_each([&](MempoolEntry& entry) {
        if (!still_holds(entry, tip)) pool_.graph().collect_descendants(entry, removed);
    });
    if (!removed.empty()) pool_.remove(removed, MempoolRemoval::reorg);
}

bool Mempool::still_holds(MempoolEntry& entry, const HeaderNode& tip) {
    if (!is_final_on(*entry.transaction, tip)) return false;
    LockPoints& points = entry.lock_points;
    const bool valid =
        points.input_height <= tip.height && tip.ancestor(points.input_height)->hash == points.input_block;
    if (!valid) {
        const auto renewed = new_lock_points(entry, tip);
        if (!renewed || !are_locks_over(*renewed, tip)) return false;
        points = *renewed;
    } else if (!are_locks_over(points, tip)) {
        return false;
    }
    return !entry.spends_coinbase || !spends_immature(entry, tip);
}

std::optional<LockPoints> Mempool::new_lock_points(const MempoolEntry& entry, const HeaderNode& tip) const {
    std::vector<Height> heights;
    for (const Outpoint& outpoint : entry.transaction->spends()) {
        if (pool_.graph().find(outpoint.txid) != nullptr) {
            heights.push_back(tip.height.next());
            continue;
        }
        const auto coin = options_.coins->find(outpoint);
        if (!coin) return std::nullopt;
        heights.push_back(coin->height);
    }
    return lock_points_of(*entry.transaction, heights, tip);
}

bool Mempool::spends_immature(const MempoolEntry& entry, const HeaderNode& tip) const {
    for (const Outpoint& outpoint : entry.transaction->spends()) {
        if (pool_.graph().find(outpoint.txid) != nullptr) continue;
        const auto coin = options_.coins->find(outpoint);
        // A coin that cannot be read is none to rely on.
        if (!coin) return true;
        if (coin->coinbase && tip.height.next().value - coin->height.value < kCoinbaseMaturity) return true;
    }
    return false;
}

Result<TransactionOutcome> Mempool::accept(const TransactionRef& transaction, const AcceptRules& rules,
                                           const HeaderNode& tip) {
    return MempoolAcceptance(pool_, tip).accept(transaction, rules);
}

Result<PackageOutcome> Mempool::test_package(std::span<const TransactionRef> package, const HeaderNode& tip) {
    return MempoolAcceptance(pool_, tip).test_package(package);
}

Result<PackageOutcome> Mempool::submit_package(std::span<const TransactionRef> package,
                                               std::optional<FeeRate> max_rate, const HeaderNode& tip) {
    auto outcome = MempoolAcceptance(pool_, tip).submit_package(package, max_rate);
    for (const TransactionRef& transaction : package) pool_.add_unbroadcast(transaction->txid());
    return outcome;
}

Result<SendOutcome> Mempool::test_send(const TransactionRef& transaction, std::optional<Amount> max_fee,
                                       const HeaderNode& tip) {
    const CandidateChecks coins(pool_, tip);
    for (std::uint32_t i = 0; i < transaction->output_count(); ++i) {
        const auto confirmed = coins.is_confirmed({.txid = transaction->txid(), .position = i});
        if (!confirmed) return std::unexpected(confirmed.error());
        if (*confirmed) return SendOutcome{.kind = SendOutcome::Kind::confirmed, .refusal = {}};
    }
    if (pool_.graph().find(transaction->txid()) != nullptr) return SendOutcome{};
    const auto tested = accept(transaction, {.test = true}, tip);
    if (!tested) return std::unexpected(tested.error());
    if (!tested->accepted())
        return SendOutcome{.kind = SendOutcome::Kind::refused, .refusal = tested->refusal};
    if (max_fee && tested->fee > *max_fee)
        return SendOutcome{.kind = SendOutcome::Kind::fee_too_high, .refusal = {}};
    return SendOutcome{};
}

Result<SendOutcome> Mempool::send(const TransactionRef& transaction, std::optional<Amount> max_fee,
                                  const HeaderNode& tip) {
    auto tested = test_send(transaction, max_fee, tip);
    if (!tested || tested->kind != SendOutcome::Kind::sent) return tested;
    if (pool_.graph().find(transaction->txid()) != nullptr) return SendOutcome{};
    const auto outcome = accept(transaction, {}, tip);
    if (!outcome) return std::unexpected(outcome.error());
    if (!outcome->accepted())
        return SendOutcome{.kind = SendOutcome::Kind::refused, .refusal = outcome->refusal};
    pool_.add_unbroadcast(transaction->txid());
    return SendOutcome{};
}

void Mempool::publish(const Tip& tip) {
    MempoolBoard::Update update;
    const MempoolGraph& graph = pool_.graph();
    MempoolGraph::Changes changes = pool_.graph().take_changes();
    changes.touched.merge(pool_.take_unbroadcast_changes());
    for (const Txid& txid : changes.touched) {
        const MempoolEntry* const entry = graph.find(txid);
        if (entry != nullptr)
            update.rows.push_back(MempoolRow::of(*entry, pool_.unbroadcast().contains(txid)));
    }
    update.gone = std::move(changes.gone);
    update.deltas = pool_.take_delta_changes();
    update.summary = {.tip = tip,
                      .loaded = loaded_,
                      .count = graph.size(),
                      .vsize = graph.total_vsize(),
                      .memory = pool_.memory(),
                      .max_memory = options_.max_bytes,
                      .total_fee = graph.total_fee(),
                      .min_fee = pool_.min_fee(),
                      .min_relay = options_.policy.min_relay,
                      .incremental = options_.policy.incremental,
                      .unbroadcast = pool_.unbroadcast().size(),
                      .full_replacement = options_.policy.full_replacement,
                      .next_sequence = pool_.sequence()};
    board_.publish(std::move(update));
}

}  // namespace blockpub
