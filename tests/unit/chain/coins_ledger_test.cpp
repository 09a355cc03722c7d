// SPDX-License-Identifier: MIT
#include "chain/coins_ledger.hpp"

#include "base/hex.hpp"
#include "primitives/sha256.hpp"
#include "recorded_rows.hpp"
#include "support/coin_options.hpp"
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
    /// Tag: a store that was filled without coins, until it is closed and opened.
    struct WithoutCoins {};
    explicit Node(WithoutCoins) : chain(std::make_unique<RegtestChain>()) {}
    void open() { must(try_open()); }
    [[nodiscard]] Result<void> try_open() {
        coins = must(CoinStore::open(options()));
        ledger = std::make_unique<CoinsLedger>(chain_params(ChainKind::regtest), *coins);
        if (!chain) {
            chain =
                std::make_unique<RegtestChain>(RegtestChain::default_options(), RegtestChain::NotStarted{});
        }
        chain->options().chain.coins = ledger.get();
        return chain->try_start();
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

    std::uint64_t budget = std::uint64_t{450} << 20;
    std::unique_ptr<CoinStore> coins;
    std::unique_ptr<CoinsLedger> ledger;
    std::unique_ptr<RegtestChain> chain;

 private:
    [[nodiscard]] CoinStoreOptions options() const {
        CoinStoreOptions options = coin_options(directory_.path());
        options.budget_bytes = budget;
        return options;
    }
    TemporaryDirectory directory_;
};

/// The recorded chain's end, and gettxoutsetinfo hash_serialized_3 there.
constexpr const char* kBestHash = "0c009567b35ca2f7f1c467ed62e8a21d54b0201900d1c48c9a499de3bfc88432";
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

TEST_CASE("a transaction that repeats one with unspent coins is refused for that, before any other fault") {
    Node node;
    BuiltBlock tip = regtest_genesis();
    const auto extend = [&](std::vector<TransactionSpec> transactions) {
        BlockSpec spec = child_spec(tip);
        spec.transactions = std::move(transactions);
        const BuiltBlock block = build_block(spec);
        std::string answer = must(node.chain->chain().submit_block(block.raw)).bip22();
        if (answer.empty()) tip = block;
        return answer;
    };
    REQUIRE(extend({}).empty());
    const TransactionSpec first = spend({.txid = tip.coinbase.txid(), .position = 0}, 50 * kCoin);
    for (int depth = 0; depth < 100; ++depth) REQUIRE(extend({}).empty());
    const TransactionSpec second = spend({.txid = first.txid(), .position = 0}, 50 * kCoin);
    const TransactionSpec lacks_input = spend({.txid = Txid(sha256d(Bytes{1})), .position = 0}, 1);
    CHECK(extend({lacks_input, first}) == "bad-txns-inputs-missingorspent");
    CHECK(extend({first}).empty());
    CHECK(extend({first}) == "bad-txns-BIP30");
    CHECK(extend({lacks_input, first}) == "bad-txns-BIP30");
    CHECK(extend({second}).empty());
    CHECK(extend({first}) == "bad-txns-inputs-missingorspent");
    CHECK(node.chain->tip() == tip.hash);
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

TEST_CASE("a store that was filled without coins gets them at the next start, undo data and facts too") {
    Node node(Node::WithoutCoins{});
    feed_recorded_chain(node);
    node.close();
    node.open();
    CHECK(node.coins_hash() == kRecordedCoins);
    const auto tip = node.chain->header(node.chain->tip());
    CHECK(tip.undo.has_value());
    CHECK(tip.facts.has_value());
    const auto block = must(must(node.chain->store().snapshot()).active({150}));
    must(node.chain->chain().invalidate_block(block));
    must(node.chain->chain().reconsider_block(block));
    CHECK(node.coins_hash() == kRecordedCoins);
}

TEST_CASE("a start that is asked to stop while it makes coins keeps what it has made") {
    Node node;
    feed_recorded_chain(node);
    node.close();
    int questions = 0;
    node.chain->options().chain.stop_requested = [&] { return ++questions == 60; };
    const auto stopped = node.try_open();
    REQUIRE_FALSE(stopped);
    CHECK(stopped.error().code == Errc::stopped);
    REQUIRE(node.coins->flush());
    CHECK(node.coins->status().flushed.height.value == 59);
    node.close();
    questions = 60;
    node.open();
    CHECK(questions == 60 + 169 - 59);
    CHECK(node.coins_hash() == kRecordedCoins);
}

TEST_CASE("memory stays within its budget while coins are made again") {
    Node node;
    feed_recorded_chain(node);
    node.close();
    node.budget = std::uint64_t{1} << 20;  // what a few blocks with a coin in each shard take
    node.open();
    CHECK(node.coins->status().flushed.height.value > 0);
    CHECK(node.coins_hash() == kRecordedCoins);
}

TEST_CASE("undo data that is gone is an error that names the block") {
    Node node;
    feed_recorded_chain(node);
    REQUIRE(node.coins->flush());
    const auto block = must(must(node.chain->store().snapshot()).active({160}));
    must(node.chain->chain().invalidate_block(block));
    node.close();
    // The start has to go back from the old tip, whose undo data a damaged record no longer names.
    {
        const auto store = must(Store::open(node.chain->store_options()));
        auto record = must(must(store->snapshot()).header(hash_of(json(kBestHash))));
        record.undo.reset();
        StoreChanges changes;
        changes.headers.push_back({hash_of(json(kBestHash)), record});
        store->apply(std::move(changes));
        must(store->commit());
    }
    const auto refused = node.try_open();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().context.find(kBestHash) != std::string::npos);
    CHECK(refused.error().context.find("undo data") != std::string::npos);
}

TEST_CASE("what is wrong with a spent coin is said in Core's words") {
    Node node;
    const auto branch = build_branch(regtest_genesis(), 101, 1);
    node.chain->submit_all(branch);
    const auto verdict_on = [&](TransactionSpec transaction) {
        BlockSpec spec = child_spec(branch.back());
        spec.transactions = {std::move(transaction)};
        return must(node.chain->chain().test_block(build_block(spec).raw));
    };
    const Outpoint ripe{.txid = branch[0].coinbase.txid(), .position = 0};
    const Outpoint unripe{.txid = branch[9].coinbase.txid(), .position = 0};
    CHECK(verdict_on(spend(ripe, 50 * kCoin)).empty());
    CHECK(verdict_on(spend(ripe, 50 * kCoin + 1)) ==
          "bad-txns-in-belowout, value in (50.00) < value out (50.00000001)");
    CHECK(verdict_on(spend(unripe, 1)) ==
          "bad-txns-premature-spend-of-coinbase, tried to spend coinbase at depth 92");
    CHECK(verdict_on(spend({.txid = ripe.txid, .position = 7}, 1)) ==
          "bad-txns-inputs-missingorspent, CheckTxInputs: inputs missing/spent");
    BlockSpec greedy = child_spec(branch.back());
    greedy.coinbase_amount = 51 * kCoin;
    CHECK(must(node.chain->chain().test_block(build_block(greedy).raw)) == "bad-cb-amount");
}
