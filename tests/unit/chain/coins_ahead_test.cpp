// SPDX-License-Identifier: MIT
#include "chain/coins_ahead.hpp"

#include "support/block_builder.hpp"
#include "support/coin_options.hpp"
#include "support/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <thread>

using namespace blockpub;

TEST_SUITE_BEGIN("chain.coins_ahead");

namespace {

Outpoint outpoint_of(std::uint8_t number) {
    std::array<std::uint8_t, 32> wire{};
    wire[0] = wire[31] = number;
    return {.txid = Txid(wire), .position = number};
}

/// A store in which outpoints 1 to 9 are coins of as many satoshi, and the tip that has them.
struct Coins {
    Coins() {
        auto opened = CoinStore::open(test::coin_options(directory.path()));
        REQUIRE(opened);
        store = std::move(*opened);
        std::vector<CoinChange> changes;
        for (std::uint8_t i = 1; i < 10; ++i)
            changes.push_back({.outpoint = outpoint_of(i), .coin = Coin{.amount = i}, .fresh = true});
        store->apply(std::move(changes));
        store->publish(tip);
    }
    test::TemporaryDirectory directory;
    std::unique_ptr<CoinStore> store;
    Tip tip{.hash = chain_params(ChainKind::regtest).genesis_hash, .height = {7}};
};

/// Header, a coinbase, and a transaction for each of the outpoints.
SharedBytes block_spending(std::initializer_list<std::uint8_t> numbers) {
    test::Bytes raw(80);
    test::append_compact_size(raw, numbers.size() + 1);
    test::TransactionSpec coinbase;
    coinbase.inputs.push_back({.prevout = {.txid = {}, .position = 0xffffffff}, .script = {}, .witness = {}});
    test::append(raw, coinbase.build());
    for (const std::uint8_t number : numbers) {
        test::TransactionSpec spending;
        spending.inputs.push_back({.prevout = outpoint_of(number), .script = {}, .witness = {}});
        test::append(raw, spending.build());
    }
    return SharedBytes::copy_of(raw);
}

/// Waits for the thread to come to an input whose coin is there.
Coin taken(CoinsAhead& ahead, std::size_t input, const BlockHash& parent) {
    while (true) {
        if (auto coin = ahead.take(input, parent)) return *std::move(coin);
        std::this_thread::yield();
    }
}

}  // namespace

TEST_CASE("each input's coin is given once, and only as one of the tip's that was looked at") {
    const Coins coins;
    CoinsAhead ahead(block_spending({3, 200, 5}), *coins.store);
    // The first is looked at last: all are there once it is.
    CHECK(taken(ahead, 0, coins.tip.hash).amount == 3);
    CHECK_FALSE(ahead.take(0, coins.tip.hash));
    CHECK_FALSE(ahead.take(1, coins.tip.hash));
    CHECK_FALSE(ahead.take(2, BlockHash()));
    CHECK(taken(ahead, 2, coins.tip.hash).amount == 5);
    CHECK_FALSE(ahead.take(3, coins.tip.hash));
}

TEST_CASE("bytes that are no block give nothing, and an end may come at any time") {
    const Coins coins;
    {
        CoinsAhead ahead(SharedBytes::copy_of(test::Bytes(100, 0xff)), *coins.store);
        CHECK_FALSE(ahead.take(0, coins.tip.hash));
    }
    for (int i = 0; i < 20; ++i) {
        CoinsAhead ahead(block_spending({1, 2, 3, 4, 5, 6, 7, 8, 9}), *coins.store);
        ahead.end();
    }
}
