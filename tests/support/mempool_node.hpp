// SPDX-License-Identifier: MIT
#pragma once

#include "chain/coins_ledger.hpp"
#include "chain/mempool_service.hpp"
#include "support/coin_options.hpp"
#include "support/regtest_chain.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace blockpub::test {

/// A chain with coins and a mempool, all in directories of their own; non-standard transactions are welcome.
class MempoolNode {
 public:
    explicit MempoolNode(MempoolOptions options = nonstandard()) {
        coins = must(CoinStore::open(coin_options(directory_.path())));
        ledger = std::make_unique<CoinsLedger>(chain_params(ChainKind::regtest), *coins);
        auto chain_options = RegtestChain::default_options();
        chain_options.chain.coins = ledger.get();
        chain.emplace(chain_options, RegtestChain::NotStarted{});
        options.params = &chain_params(ChainKind::regtest);
        options.coins = coins.get();
        options.clock = &chain->clock();
        mempool = std::make_unique<Mempool>(options, board);
        chain->options().chain.mempool = mempool.get();
        chain->start();
        service.emplace(chain->chain(), *mempool, board, options);
    }
    ~MempoolNode() { chain->stop(); }
    MempoolNode(const MempoolNode&) = delete;
    MempoolNode& operator=(const MempoolNode&) = delete;

    [[nodiscard]] static MempoolOptions nonstandard() {
        MempoolOptions options;
        options.policy.require_standard = false;
        return options;
    }

    /// Extends the chain by blocks, whose coinbases are kept.
    void mine(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) mine_block({});
    }
    const BuiltBlock& mine_block(std::vector<TransactionSpec> transactions, std::uint64_t salt = 0) {
        BlockSpec spec = child_spec(blocks.empty() ? regtest_genesis() : blocks.back(), salt);
        spec.transactions = std::move(transactions);
        blocks.push_back(build_block(spec));
        REQUIRE(chain->submit(blocks.back()).empty());
        return blocks.back();
    }
    /// The first output of a block's coinbase.
    [[nodiscard]] Outpoint coinbase(std::size_t block) const {
        return {.txid = blocks.at(block).coinbase.txid(), .position = 0};
    }
    [[nodiscard]] static TransactionRef decode(const TransactionSpec& spec) {
        return must(MempoolTransaction::decode(SharedBytes::copy_of(spec.build())));
    }
    /// `accepted`, or why not.
    std::string submit(const TransactionSpec& spec) {
        const auto outcome = must(service->accept(decode(spec)));
        return outcome.accepted() ? "accepted" : outcome.refusal.text();
    }
    /// What the bus has released as far as the mempool goes: `A1 R2`, by sequence.
    [[nodiscard]] std::string mempool_events() {
        std::string text;
        for (const Event& event : chain->released()) {
            if (!text.empty()) text += ' ';
            if (const auto* added = std::get_if<TransactionAddedToMempool>(&event)) {
                text += 'A' + std::to_string(added->sequence.value);
            } else if (const auto* removed = std::get_if<TransactionRemovedFromMempool>(&event)) {
                text += 'R' + std::to_string(removed->sequence.value);
            } else if (std::holds_alternative<BlockConnected>(event)) {
                text += 'C';
            } else if (std::holds_alternative<BlockDisconnected>(event)) {
                text += 'D';
            } else {
                text += 'T';
            }
        }
        return text;
    }
    [[nodiscard]] bool has(const TransactionSpec& spec) const { return board.find(spec.txid()).has_value(); }

    std::unique_ptr<CoinStore> coins;
    std::unique_ptr<CoinsLedger> ledger;
    MempoolBoard board;
    std::unique_ptr<Mempool> mempool;
    std::optional<RegtestChain> chain;
    std::optional<MempoolService> service;
    std::vector<BuiltBlock> blocks;  ///< the branch that was mined, oldest first

 private:
    TemporaryDirectory directory_;
};

/// Spends outputs to `outputs` of `amount` each, that may be replaced, and large enough to be relayed.
[[nodiscard]] inline TransactionSpec pay(const std::vector<Outpoint>& from, Amount amount,
                                         std::size_t outputs = 1, std::uint32_t sequence = 0xfffffffd) {
    TransactionSpec transaction;
    for (const Outpoint& outpoint : from)
        transaction.inputs.push_back(
            {.prevout = outpoint, .script = {}, .sequence = sequence, .witness = {}});
    Script script{0x52, 0x20};
    script.resize(34, 0);
    for (std::size_t i = 0; i < outputs; ++i)
        transaction.outputs.push_back({.amount = amount, .script = script});
    return transaction;
}
[[nodiscard]] inline Outpoint output_of(const TransactionSpec& transaction, std::uint32_t position = 0) {
    return {.txid = transaction.txid(), .position = position};
}

}  // namespace blockpub::test
