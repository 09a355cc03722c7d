// SPDX-License-Identifier: MIT
#include "chain/facts.hpp"

#include "chain/connect_block.hpp"
#include "primitives/chain_params.hpp"
#include "support/block_builder.hpp"

#include <doctest/doctest.h>

using namespace blockpub;
using namespace blockpub::test;

namespace {

/// What a coin with a script of one byte takes in the figures: amount, length and script, and 41 bytes more.
constexpr std::int64_t kSmallCoin = 8 + 1 + 1 + 41;

BlockStats stats_of(const BuiltBlock& block, Height height, bool repeats_coinbase, const BlockUndo& undo) {
    const auto parsed = ParsedBlock::parse(block.raw);
    REQUIRE(parsed.has_value());
    return compute_facts(*parsed, height, repeats_coinbase, undo).stats;
}

/// Blocks of transactions that have one input and one output each.
struct Spending {
    /// `size` in bytes; `rate` in satoshi for each of them.
    void add(std::size_t size, Amount rate) {
        const Amount fee = rate * static_cast<Amount>(size);
        TransactionSpec transaction =
            spend({.txid = {}, .position = static_cast<std::uint32_t>(undo.size())}, kCoin - fee);
        const std::size_t bare = transaction.build().size();
        // From 253 bytes on the script's length takes two bytes more.
        const std::size_t padding = size - bare > 252 ? size - bare - 2 : size - bare;
        transaction.inputs.front().script.assign(padding, 0x51);
        REQUIRE(transaction.build().size() == size);
        spec.transactions.push_back(transaction);
        undo.begin_transaction();
        undo.add(Coin{.amount = kCoin, .height = {1}, .coinbase = false, .script = {0x51}});
    }
    [[nodiscard]] BlockStats stats(bool repeats_coinbase = false) const {
        return stats_of(build_block(spec), {200}, repeats_coinbase, undo);
    }

    BlockSpec spec{.height = {200}, .commit_to_witness = false};
    BlockUndo undo;
};

}  // namespace

TEST_SUITE_BEGIN("chain.facts");

TEST_CASE("the output of genesis is counted, and is no coin") {
    for (const ChainKind kind : {ChainKind::main, ChainKind::regtest}) {
        const auto genesis = chain_params(kind).genesis;
        BuiltBlock block;
        block.raw = SharedBytes::copy_of(genesis);
        const BlockStats stats = stats_of(block, {0}, false, {});
        BlockStats wanted;
        wanted.outputs = 1;
        wanted.utxo_increase = 1;
        wanted.utxo_size_increase = 117;
        CHECK(stats == wanted);
    }
}

TEST_CASE("two blocks of the main chain repeat an earlier coinbase, and no others do") {
    const auto hash = [](const char* digits) { return BlockHash::from_display_hex(digits).value(); };
    const BlockHash first = hash("00000000000a4d0a398161ffc163c503763b1f4360639393e0e4c8e300e0caec");
    const BlockHash second = hash("00000000000743f190a18c5577a3c2d2a1f610ae9601ac046a38084ccb7cd721");
    CHECK(repeats_earlier_coinbase({91842}, first));
    CHECK(repeats_earlier_coinbase({91880}, second));
    CHECK_FALSE(repeats_earlier_coinbase({91880}, first));
    CHECK_FALSE(repeats_earlier_coinbase({91842}, second));
    CHECK_FALSE(repeats_earlier_coinbase({91841}, first));
}

TEST_CASE("a coinbase that overwrites an earlier one makes no coin more, the block's other outputs do") {
    Spending block;
    block.add(100, 1);
    const BlockStats usual = block.stats();
    CHECK(usual.utxo_increase == 1);
    CHECK(usual.utxo_size_increase == kSmallCoin);
    CHECK(usual.utxo_increase_actual == 1);
    CHECK(usual.utxo_size_increase_actual == kSmallCoin);
    const BlockStats repeating = block.stats(true);
    CHECK(repeating.utxo_increase == 1);
    CHECK(repeating.utxo_size_increase == kSmallCoin);
    CHECK(repeating.utxo_increase_actual == 0);
    CHECK(repeating.utxo_size_increase_actual == 0);
}

TEST_CASE("outputs that nobody can spend are counted, and are no coins") {
    Spending block;
    block.add(100, 0);
    Script longest(10'001, 0x51);
    for (const Script& script : {Script{0x6a}, Script{0x6a, 1, 0}, longest})
        block.spec.transactions.front().outputs.push_back({.amount = 0, .script = script});
    const BlockStats stats = block.stats();
    CHECK(stats.outputs == 5);
    CHECK(stats.utxo_increase == 4);
    CHECK(stats.utxo_increase_actual == 1);
    CHECK(stats.utxo_size_increase == 4 * kSmallCoin + 2 + 10'002);
    CHECK(stats.utxo_size_increase_actual == kSmallCoin);
}

TEST_CASE("percentiles of fee rates go by weight, and take in who lies on the boundary") {
    using Five = std::array<std::int64_t, 5>;
    struct Case {
        const char* name;
        std::vector<std::pair<std::size_t, Amount>> sizes_and_rates;
        Five percentiles;
    };
    const Case kRateCases[] = {
        {"no transactions", {}, Five{0, 0, 0, 0, 0}},
        {"one", {{100, 7}}, Five{7, 7, 7, 7, 7}},
        {"a tenth of the weight to the byte", {{900, 100}, {100, 1}}, Five{1, 100, 100, 100, 100}},
        {"a byte less than a tenth", {{901, 100}, {99, 1}}, Five{100, 100, 100, 100, 100}},
        {"four quarters", {{250, 4}, {250, 3}, {250, 2}, {250, 1}}, Five{1, 1, 2, 3, 4}},
        {"nine tenths to the byte", {{900, 1}, {100, 100}}, Five{1, 1, 1, 1, 1}},
        {"a byte less than nine tenths", {{899, 1}, {101, 100}}, Five{1, 1, 1, 1, 100}},
    };
    for (const Case& c : kRateCases) {
        CAPTURE(c.name);
        Spending block;
        for (const auto& [size, rate] : c.sizes_and_rates) block.add(size, rate);
        CHECK(block.stats().fee_rate_percentiles == c.percentiles);
    }
}

TEST_SUITE_END();
