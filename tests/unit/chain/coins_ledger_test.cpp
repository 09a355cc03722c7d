// SPDX-License-Identifier: MIT
#include "chain/coins_ledger.hpp"

#include "base/hex.hpp"
#include "primitives/sha256.hpp"
#include "recorded_rows.hpp"
#include "support/regtest_chain.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>

using namespace blockpub;
using namespace blockpub::test;
using nlohmann::json;

namespace {

std::int64_t clock_of(const char* chain) {
    std::ifstream file(kVectors + "manifest.json");
    REQUIRE(file.good());
    return json::parse(file).at(chain).at("mocktime").get<std::int64_t>();
}

BlockHash hash_of(const json& hex) {
    return *BlockHash::from_display_hex(hex.get<std::string>());
}

/// A chain that keeps coins, in directories of its own.
class Node {
 public:
    Node() { open(); }
    void open() {
        coins = must(CoinStore::open(options()));
        ledger = std::make_unique<CoinsLedger>(chain_params(ChainKind::regtest), *coins);
        if (!chain) {
            auto with_coins = RegtestChain::default_options();
            with_coins.chain.coins = ledger.get();
            chain = std::make_unique<RegtestChain>(with_coins);
        } else {
            chain->options().chain.coins = ledger.get();
            chain->start();
        }
    }
    /// Without a flush: as a crash would leave it.
    void close() {
        chain->stop();
        ledger.reset();
        coins.reset();
    }
    json submit(const json& row) {
        const auto bytes = decode_hex(row.at("hex").get<std::string>());
        const auto outcome =
            chain->chain().submit_block(bytes ? SharedBytes::copy_of(*bytes) : SharedBytes());
        if (!outcome) return outcome.error().context;
        const std::string text = outcome->bip22();
        return text.empty() ? json(nullptr) : json(text);
    }
    /// Every coin with its outpoint, in order, hashed.
    [[nodiscard]] std::string coins_hash() const {
        const CoinSnapshot snapshot = must(coins->snapshot());
        CHECK(snapshot.tip().hash == chain->tip());
        std::vector<std::uint8_t> all;
        must(snapshot.scan([&](const Outpoint& outpoint, const Coin& coin) -> Result<void> {
            append(all, outpoint.txid.wire_bytes());
            append_le<std::uint32_t>(all, outpoint.position);
            append_le<std::uint32_t>(all, coin.height.value * 2 + (coin.coinbase ? 1 : 0));
            append_le<std::int64_t>(all, coin.amount);
            append_compact_size(all, coin.script.size());
            append(all, coin.script);
            return {};
        }));
        return BlockHash(sha256d(all)).display_hex();
    }

    std::unique_ptr<CoinStore> coins;
    std::unique_ptr<CoinsLedger> ledger;
    std::unique_ptr<RegtestChain> chain;

 private:
    [[nodiscard]] CoinStoreOptions options() const {
        CoinStoreOptions options;
        options.directory = directory_.path();
        options.map_bytes = std::uint64_t{1} << 30;
        options.min_free_disk = 0;
        return options;
    }
    TemporaryDirectory directory_;
};

/// gettxoutsetinfo hash_serialized_3 of the recorded chain's end.
constexpr const char* kRecordedCoins = "01e588de9ea5434e8d68a0d29cf4283131356676a6c36721bdd88e35eb7990fe";

void feed_recorded_chain(Node& node) {
    node.chain->clock().set_fixed(clock_of("chain-a"));
    for (const json& row : read_rows("chain-a.jsonl")) {
        if (row.at("op") == "block") {
            CHECK(node.submit(row) == row.value("result", json(nullptr)));
        } else if (row.at("method") == "invalidateblock") {
            must(node.chain->chain().invalidate_block(hash_of(row.at("params").at(0))));
        } else if (row.at("method") == "reconsiderblock") {
            must(node.chain->chain().reconsider_block(hash_of(row.at("params").at(0))));
        }
    }
}

}  // namespace

TEST_SUITE_BEGIN("chain.coins_ledger");

TEST_CASE("every block that bitcoind refused is refused with its words, and every other taken") {
    Node node;
    node.chain->clock().set_fixed(clock_of("reject"));
    for (const json& row : read_rows("reject.jsonl")) {
        const std::string name = row.at("name");
        CAPTURE(name);
        const json response = json::parse(row.at("response").get<std::string>());
        const json wanted =
            response.at("error").is_null() ? response.at("result") : response.at("error").at("message");
        CHECK(node.submit(row) == wanted);
        CHECK(node.chain->tip() == hash_of(row.at("tip")));
    }
}

TEST_CASE("the coins of the recorded chain have the hash that bitcoind gave") {
    Node node;
    feed_recorded_chain(node);
    CHECK(node.coins_hash() == kRecordedCoins);
    SUBCASE("also after a flush and a new start") {
        REQUIRE(node.coins->flush());
        node.close();
        node.open();
    }
    SUBCASE("also after a start that makes all coins from the blocks again") {
        node.close();
        node.open();
    }
    SUBCASE("also after twenty blocks were taken back and came again") {
        const auto block = must(must(node.chain->store().snapshot()).active({150}));
        must(node.chain->chain().invalidate_block(block));
        CHECK(node.coins_hash() != kRecordedCoins);
        SUBCASE("with a flush between") {
            REQUIRE(node.coins->flush());
        }
        SUBCASE("with a start between") {
            node.close();
            node.open();
        }
        must(node.chain->chain().reconsider_block(block));
    }
    CHECK(node.coins_hash() == kRecordedCoins);
}

TEST_CASE("coins written with a tip that was left are taken back with undo data") {
    Node node;
    feed_recorded_chain(node);
    REQUIRE(node.coins->flush());
    const auto block = must(must(node.chain->store().snapshot()).active({160}));
    must(node.chain->chain().invalidate_block(block));
    const std::string wanted = node.coins_hash();
    node.close();  // the coins on disk are those of the old tip
    node.open();
    CHECK(node.coins_hash() == wanted);
    must(node.chain->chain().reconsider_block(block));
    CHECK(node.coins_hash() == kRecordedCoins);
}
