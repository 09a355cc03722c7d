// SPDX-License-Identifier: MIT
#include "query/script_scan.hpp"

#include "base/hex.hpp"
#include "primitives/descriptor.hpp"
#include "query/scan_slot.hpp"
#include "unit/query/rpc_fixture.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <map>
#include <string>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;
using nlohmann::json;

namespace {

const std::string kScanVectors = BLOCKPUB_SOURCE_ROOT "/tests/vectors/";

/// The recorded chain, given to a node one operation at a time.
class RecordedChain {
 public:
    explicit RecordedChain(RpcFixture& fixture) : node_(fixture.node) {
        std::ifstream manifest(kScanVectors + "manifest.json");
        node_.clock().set_fixed(json::parse(manifest).at("chain-a").at("mocktime").get<std::int64_t>());
        std::ifstream file(kScanVectors + "chain-a.jsonl");
        REQUIRE(file.good());
        for (std::string line; std::getline(file, line);) {
            json row = json::parse(line);
            const bool moves = row.at("op") == "block" || row.at("method") == "invalidateblock" ||
                               row.at("method") == "reconsiderblock";
            if (moves) rows_.push_back(std::move(row));
        }
    }
    [[nodiscard]] std::size_t left() const { return rows_.size() - next_; }
    void step() {
        if (left() == 0) return;
        const json& row = rows_[next_++];
        if (row.at("op") == "block") {
            const auto raw = decode_hex(row.at("hex").get<std::string>());
            must(node_.chain().submit_block(SharedBytes::copy_of(*raw)));
            return;
        }
        const auto hash = *BlockHash::from_display_hex(row.at("params").at(0).get<std::string>());
        if (row.at("method") == "invalidateblock") {
            must(node_.chain().invalidate_block(hash));
        } else {
            must(node_.chain().reconsider_block(hash));
        }
    }
    void steps(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) step();
    }

 private:
    RegtestChain& node_;
    std::vector<json> rows_;
    std::size_t next_ = 0;
};

using Coins = std::map<Outpoint, Coin>;

Coins all_coins(const CoinStore& store) {
    Coins coins;
    must(must(store.snapshot()).scan([&](const Outpoint& outpoint, const Coin& coin) -> Result<void> {
        coins.emplace(outpoint, coin);
        return {};
    }));
    return coins;
}

Coins coins_of(const ScriptScanResult& result) {
    Coins coins;
    for (const auto& [outpoint, found] : result.found) coins.emplace(outpoint, found.coin);
    return coins;
}

ScriptScan::Control control(std::function<void()> at_each_part) {
    return {.stopping = [] { return false; },
            .aborted =
                [at_each_part = std::move(at_each_part)] {
                    at_each_part();
                    return false;
                },
            .progress = [](int) {}};
}

ScriptScan::Sources sources(RpcFixture& fixture) {
    return {.coins = *fixture.coins, .store = fixture.node.store(), .blocks = fixture.reader};
}

}  // namespace

TEST_SUITE_BEGIN("query.script_scan");

TEST_CASE("a scan finds every coin whose script is wanted, and the block that made it") {
    RpcFixture fixture;
    RecordedChain chain(fixture);
    chain.steps(chain.left());
    const Coins all = all_coins(*fixture.coins);
    std::map<Script, Coins> by_script;
    for (const auto& [outpoint, coin] : all)
        by_script[Script(coin.script.begin(), coin.script.end())].emplace(outpoint, coin);
    REQUIRE(by_script.size() > 10);
    const auto snapshot = must(fixture.node.store().snapshot());
    for (const auto& [script, coins] : by_script) {
        ScriptScan scan(sources(fixture), control([] {}),
                        [&](const Script& candidate) { return candidate == script; });
        const ScriptScanResult result = must(scan.run());
        CHECK(result.complete);
        CHECK(result.coins == all.size());
        CHECK(result.tip == must(snapshot.tip()));
        CHECK(coins_of(result) == coins);
        for (const auto& [outpoint, found] : result.found)
            CHECK(found.block == must(snapshot.active(found.coin.height)));
    }
}

TEST_CASE("blocks and reorganisations during a scan leave it with the coins of one tip") {
    RpcFixture probe;
    const std::size_t steps = RecordedChain(probe).left();
    REQUIRE(steps > 100);
    // The scan begins at several places of the recording, and the rest happens while it runs.
    for (const std::size_t before : {std::size_t{2}, steps / 4, steps / 2, steps - 30, steps - 3}) {
        CAPTURE(before);
        RpcFixture fixture;
        RecordedChain chain(fixture);
        chain.steps(before);
        int parts = 0;
        ScriptScan scan(sources(fixture), control([&] {
                            ++parts;
                            chain.step();
                            if (parts % 16 == 0) must(fixture.coins->flush());
                        }),
                        [](const Script&) { return true; });
        const ScriptScanResult result = must(scan.run());
        CHECK(result.complete);
        CHECK(parts >= 256);
        REQUIRE(chain.left() == 0);
        CHECK(result.tip == must(fixture.coins->snapshot()).tip());
        CHECK(coins_of(result) == all_coins(*fixture.coins));
        CHECK(result.coins == result.found.size());
        for (const auto& [outpoint, found] : result.found)
            CHECK(found.coin.height.value <= result.tip.height.value);
    }
}

TEST_CASE("coins made, spent and restored in parts that were read already are looked up again") {
    RpcFixture fixture;
    RecordedChain chain(fixture);
    chain.steps(chain.left() - 40);
    // Everything happens when all parts but the last have been read.
    int parts = 0;
    ScriptScan scan(sources(fixture), control([&] {
                        if (++parts == 200) chain.steps(chain.left());
                    }),
                    [](const Script&) { return true; });
    const ScriptScanResult result = must(scan.run());
    CHECK(result.tip == must(fixture.coins->snapshot()).tip());
    CHECK(coins_of(result) == all_coins(*fixture.coins));
    CHECK(result.coins == result.found.size());
}

TEST_CASE("a scan that is aborted has what it saw, one that is stopped fails") {
    RpcFixture fixture;
    RecordedChain chain(fixture);
    chain.steps(chain.left());
    int parts = 0;
    ScriptScan aborted(sources(fixture),
                       {.stopping = [] { return false; },
                        .aborted = [&] { return ++parts > 128; },
                        .progress = [](int percent) { CHECK(percent < 100); }},
                       [](const Script&) { return true; });
    const ScriptScanResult part = must(aborted.run());
    CHECK_FALSE(part.complete);
    CHECK(part.coins == part.found.size());
    CHECK(part.coins > 0);
    CHECK(part.coins < all_coins(*fixture.coins).size());

    ScriptScan stopped(
        sources(fixture),
        {.stopping = [] { return true; }, .aborted = [] { return false; }, .progress = [](int) {}},
        [](const Script&) { return true; });
    const auto failure = stopped.run();
    REQUIRE_FALSE(failure);
    CHECK(failure.error().code == Errc::stopped);
}

TEST_CASE("a block that cannot be read ends a scan that has to follow it") {
    RpcFixture fixture;
    RecordedChain chain(fixture);
    chain.steps(chain.left() / 2);
    int parts = 0;
    ScriptScan scan(sources(fixture), control([&] {
                        if (++parts != 100) return;
                        chain.step();
                        fixture.reader.failure = Error{Errc::io, "the disk is gone"};
                    }),
                    [](const Script&) { return true; });
    const auto failure = scan.run();
    REQUIRE_FALSE(failure);
    CHECK(failure.error().context == "the disk is gone");
}

TEST_CASE("there is one place for a scan") {
    ScanSlot slot;
    CHECK_FALSE(slot.percent());
    CHECK_FALSE(slot.abort());
    REQUIRE(slot.try_take());
    CHECK_FALSE(slot.try_take());
    slot.set_percent(40);
    CHECK(slot.percent() == 40);
    CHECK_FALSE(slot.aborted());
    CHECK(slot.abort());
    CHECK(slot.aborted());
    slot.give_back();
    CHECK_FALSE(slot.abort());
    REQUIRE(slot.try_take());
    CHECK(slot.percent() == 0);
    CHECK_FALSE(slot.aborted());
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("query.rpc_scanning");

namespace {

std::string error_of(const std::string& reply) {
    const json error = json::parse(reply).at("error");
    return error.is_null() ? "" : error.at("code").dump() + " " + error.at("message").get<std::string>();
}

}  // namespace

TEST_CASE("scantxoutset start answers in bitcoind's form") {
    RpcFixture fixture;
    const std::string key = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
    const Script script = must(descriptor_to_script("wpkh(" + key + ")", *fixture.context.params));
    BlockSpec spec = child_spec(regtest_genesis());
    spec.coinbase = detail::make_coinbase(spec);
    spec.coinbase->outputs.front().script = script;
    const BuiltBlock block = build_block(spec);
    REQUIRE(fixture.node.submit(block).empty());
    const std::string empty =
        R"j({"success":true,"txouts":1,"height":1,"bestblock":")j" + block.hash.display_hex() + '"';
    CHECK(fixture.call("scantxoutset", R"j(["start",[]])j") ==
          RpcFixture::result(empty + R"j(,"unspents":[],"total_amount":0.00000000})j"));
    const std::string found = fmt::format(
        R"j({},"unspents":[{{"txid":"{}","vout":0,"scriptPubKey":"{}","desc":"wpkh([751e76e8]{})#)j", empty,
        block.coinbase.txid().display_hex(), encode_hex(script), key);
    const std::string rest = fmt::format(
        R"j(","amount":50.00000000,"coinbase":true,"height":1,"blockhash":"{}","confirmations":1}}],)j"
        R"j("total_amount":50.00000000}})j",
        block.hash.display_hex());
    for (const char* form : {R"j(["start",["wpkh(KEY)"]])j", R"j(["start",["combo(KEY)"]])j",
                             R"j(["start",[{"desc":"wpkh(KEY)","range":[0,5]}]])j",
                             R"j({"action":"start","scanobjects":["raw(51)","wpkh(KEY)"]})j"}) {
        CAPTURE(form);
        std::string params = form;
        params.replace(params.find("KEY"), 3, key);
        const std::string reply = fixture.call("scantxoutset", params);
        CHECK(reply.find(found) == std::string("{\"result\":").size());
        CHECK(reply.ends_with(rest + ",\"error\":null,\"id\":1}\n"));
    }
}

TEST_CASE("scantxoutset refuses what bitcoind refuses, in its words") {
    struct Case {
        const char* name;
        const char* params;
        const char* error;
    };
    static constexpr Case kCases[] = {
        {"no objects", R"j(["start"])j", "-1 scanobjects argument is required for the start action"},
        {"null for objects", R"j(["start",null])j",
         "-3 JSON value of type null is not of expected type array"},
        {"an unknown action", R"j(["invalid_command"])j", "-8 Invalid action 'invalid_command'"},
        {"a number for an object", R"j(["start",[7]])j",
         "-8 Scan object needs to be either a string or an object"},
        {"an object without descriptor", R"j(["start",[{"range":5}]])j",
         "-8 Descriptor needs to be provided in scan object"},
        {"a number for a descriptor", R"j(["start",[{"desc":5}]])j",
         "-3 JSON value of type number is not of expected type string"},
        {"a wrong descriptor", R"j(["start",["raw(zz)"]])j", "-5 Raw script is not hex"},
        {"a wrong address", R"j(["start",["addr(x)"]])j", "-5 Address is not valid"},
        {"a range that ends before it begins", R"j(["start",[{"desc":"raw(51)","range":[2,1]}]])j",
         "-8 Range specified as [begin,end] must not have begin after end"},
        {"a negative range", R"j(["start",[{"desc":"raw(51)","range":[-1,10]}]])j",
         "-8 Range should be greater or equal than 0"},
        {"a range that ends too high", R"j(["start",[{"desc":"raw(51)","range":2147483648}]])j",
         "-8 End of range is too high"},
        {"a negative end", R"j(["start",[{"desc":"raw(51)","range":-1}]])j", "-8 End of range is too high"},
        {"a range that is too large", R"j(["start",[{"desc":"raw(51)","range":1000000}]])j",
         "-8 Range is too large"},
        {"a word for a range", R"j(["start",[{"desc":"raw(51)","range":"x"}]])j",
         "-8 Range must be specified as end or as [begin,end]"},
        {"three numbers for a range", R"j(["start",[{"desc":"raw(51)","range":[1,2,3]}]])j",
         "-8 Range must be specified as end or as [begin,end]"},
    };
    RpcFixture fixture;
    for (const Case& c : kCases) {
        CAPTURE(c.name);
        CHECK(error_of(fixture.call("scantxoutset", c.params)) == c.error);
    }
    // None of them left the place taken.
    CHECK(fixture.call("scantxoutset", R"j(["status"])j") == RpcFixture::result("null"));
}

TEST_CASE("a scan under way is seen, is the only one, and can be aborted") {
    RpcFixture fixture;
    CHECK(fixture.call("scantxoutset", R"j(["status"])j") == RpcFixture::result("null"));
    CHECK(fixture.call("scantxoutset", R"j(["abort"])j") == RpcFixture::result("false"));
    REQUIRE(fixture.node.submit(child_of(regtest_genesis())).empty());
    int asked = 0;
    fixture.context.stopping = [&] {
        if (++asked == 1) {
            CHECK(fixture.call("scantxoutset", R"j(["status"])j").starts_with(R"j({"result":{"progress":)j"));
            CHECK(error_of(fixture.call("scantxoutset", R"j(["start",[]])j")) ==
                  "-8 Scan already in progress, use action \"abort\" or \"status\"");
            CHECK(fixture.call("scantxoutset", R"j(["abort"])j") == RpcFixture::result("true"));
        }
        return false;
    };
    const json result = json::parse(fixture.call("scantxoutset", R"j(["start",["raw(51)"]])j")).at("result");
    CHECK(asked > 0);
    CHECK(result.at("success") == false);
    CHECK(result.at("unspents").empty());
    CHECK(result.at("height") == 1);
    CHECK(fixture.call("scantxoutset", R"j(["status"])j") == RpcFixture::result("null"));

    fixture.context.stopping = [] { return true; };
    CHECK(error_of(fixture.call("scantxoutset", R"j(["start",["raw(51)"]])j")) == "-9 Shutting down");
}

TEST_CASE("only scantxoutset start takes another thread") {
    RpcFixture fixture;
    const auto is_job = [&](const std::string& params) {
        HttpRequest request;
        request.body = fmt::format(R"j({{"id":1,"method":"scantxoutset","params":{}}})j", params);
        HttpAnswer answer = fixture.dispatcher.answer(request);
        return std::holds_alternative<HttpJob>(answer);
    };
    CHECK(is_job(R"j(["start",[]])j"));
    CHECK(is_job(R"j({"action":"start"})j"));
    CHECK_FALSE(is_job(R"j(["status"])j"));
    CHECK_FALSE(is_job(R"j({"action":"abort"})j"));
    CHECK_FALSE(is_job(R"j("start")j"));
    CHECK(is_job(R"j({"nosuch":1})j"));
}

TEST_SUITE_END();
