// SPDX-License-Identifier: MIT
#include "base/hex.hpp"
#include "chain/coins_ledger.hpp"
#include "query/rpc_context.hpp"
#include "query/rpc_dispatch.hpp"
#include "support/coin_options.hpp"
#include "support/regtest_chain.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;
using nlohmann::json;

namespace {

const std::string kVectors = BLOCKPUB_SOURCE_ROOT "/tests/vectors/";

std::vector<json> read_rows(const std::string& name) {
    std::ifstream file(kVectors + name);
    REQUIRE(file.good());
    std::vector<json> rows;
    for (std::string line; std::getline(file, line);) rows.push_back(json::parse(line));
    return rows;
}

class FixedMempool final : public MempoolCoinView {
 public:
    MempoolCoin look_up(const Outpoint& outpoint) const override {
        const auto found = coins.find(outpoint);
        return found == coins.end() ? MempoolCoin{} : found->second;
    }
    std::map<Outpoint, MempoolCoin> coins;
};

/// A regtest chain that keeps coins, and the methods about them.
class CoinsFixture {
 public:
    CoinsFixture()
        : coins_(must(CoinStore::open(coin_options(directory_.path())))),
          ledger_(chain_params(ChainKind::regtest), *coins_),
          node_(node_options()) {
        context.store = &node_.store();
        context.chain = &node_.chain();
        context.coins = coins_.get();
        context.params = &chain_params(ChainKind::regtest);
        context.logger = &logger_;
        context.mempool_coins = &mempool;
        context.stopping = [this] { return stopping; };
        std::vector<RpcMethod> methods;
        add_coin_methods(methods, context);
        dispatcher_.set_ready(std::make_unique<const RpcMethods>(std::move(methods)));
    }
    void feed_recorded_chain() {
        std::ifstream file(kVectors + "manifest.json");
        node_.clock().set_fixed(json::parse(file).at("chain-a").at("mocktime").get<std::int64_t>());
        for (const json& row : read_rows("chain-a.jsonl")) {
            if (row.at("op") == "block") {
                const auto raw = decode_hex(row.at("hex").get<std::string>());
                must(node_.chain().submit_block(SharedBytes::copy_of(*raw)));
            } else if (row.at("method") == "invalidateblock") {
                must(node_.chain().invalidate_block(hash_of(row.at("params").at(0))));
            } else if (row.at("method") == "reconsiderblock") {
                must(node_.chain().reconsider_block(hash_of(row.at("params").at(0))));
            }
        }
    }
    std::string call(const std::string& method, const std::string& params) {
        HttpRequest request;
        request.departed = [this] { return departed; };
        request.body = fmt::format(R"({{"jsonrpc":"1.0","id":1,"method":"{}","params":{}}})", method, params);
        HttpAnswer answer = dispatcher_.answer(request);
        if (auto* response = std::get_if<HttpResponse>(&answer)) return response->text;
        HttpJob& job = std::get<HttpJob>(answer);
        lanes.push_back(job.lane);
        return job.run().text;
    }
    json result(const std::string& method, const std::string& params) {
        return json::parse(call(method, params)).at("result");
    }
    json error(const std::string& method, const std::string& params) {
        return json::parse(call(method, params)).at("error");
    }

    FixedMempool mempool;
    bool stopping = false;
    bool departed = false;
    RpcContext context;
    std::vector<Lane> lanes;  ///< of the jobs that calls became

 private:
    static BlockHash hash_of(const json& hex) { return *BlockHash::from_display_hex(hex.get<std::string>()); }
    RegtestChain::Options node_options() {
        auto options = RegtestChain::default_options();
        options.chain.coins = &ledger_;
        return options;
    }

    NullLogger logger_;
    TemporaryDirectory directory_;
    std::unique_ptr<CoinStore> coins_;
    CoinsLedger ledger_;
    RegtestChain node_;
    RpcDispatcher dispatcher_{logger_};
};

/// Sets what may differ between two nodes to one value.
std::string without_disk_size(std::string text) {
    const std::size_t at = text.find("\"disk_size\":");
    if (at != std::string::npos) text.replace(at, text.find('}', at) - at, "\"disk_size\":0");
    return text;
}

constexpr const char* kCoinbase = "989830d5ff165f61e652b2516498baec9a91ae782a71eeafb725c30d90abe25e";

}  // namespace

TEST_SUITE_BEGIN("query.rpc_coins");

TEST_CASE("every recorded call about coins is answered to the byte") {
    CoinsFixture fixture;
    fixture.feed_recorded_chain();
    std::size_t compared = 0;
    for (const json& row : read_rows("chain-a-coins.jsonl")) {
        const std::string params = row.at("params").dump();
        CAPTURE(params);
        CHECK(without_disk_size(fixture.call(row.at("method"), params)) ==
              row.at("response").get<std::string>());
        ++compared;
    }
    CHECK(compared == 210);
}

TEST_CASE("gettxout takes the mempool into account when asked to, or not told otherwise") {
    CoinsFixture fixture;
    fixture.feed_recorded_chain();
    const Outpoint spent{.txid = *Txid::from_display_hex(kCoinbase), .position = 0};
    fixture.mempool.coins[spent] = {.spent = true, .made = std::nullopt};
    Coin made{.amount = 123, .height = {0}, .coinbase = false, .script = {0x51}};
    const std::string other(64, 'a');
    fixture.mempool.coins[{.txid = *Txid::from_display_hex(other), .position = 7}] = {.spent = false,
                                                                                      .made = made};
    const auto params = [](const std::string& txid, int position, const char* more) {
        return fmt::format(R"(["{}",{}{}])", txid, position, more);
    };
    CHECK(fixture.result("gettxout", params(kCoinbase, 0, "")).is_null());
    CHECK(fixture.result("gettxout", params(kCoinbase, 0, ",true")).is_null());
    CHECK(fixture.result("gettxout", params(kCoinbase, 0, ",false")).at("confirmations") == 3);
    const json pooled = fixture.result("gettxout", params(other, 7, ""));
    CHECK(pooled.at("confirmations") == 0);
    CHECK(pooled.at("value") == 0.00000123);
    CHECK(pooled.at("coinbase") == false);
    CHECK(fixture.result("gettxout", params(other, 7, ",false")).is_null());
}

TEST_CASE("gettxout refuses what bitcoind refuses, in its words") {
    struct Case {
        const char* name;
        const char* params;
        int code;
        const char* message;
    };
    static constexpr Case kCases[] = {
        {"short txid", R"(["abc",0])", -8, "txid must be of length 64 (not 3, for 'abc')"},
        {"negative position", R"(["989830d5ff165f61e652b2516498baec9a91ae782a71eeafb725c30d90abe25e",-1])",
         -1, "JSON integer out of range"},
        {"position beyond 32 bits",
         R"(["989830d5ff165f61e652b2516498baec9a91ae782a71eeafb725c30d90abe25e",4294967296])", -1,
         "JSON integer out of range"},
    };
    CoinsFixture fixture;
    for (const Case& c : kCases) {
        CAPTURE(c.name);
        const json error = fixture.error("gettxout", c.params);
        CHECK(error.at("code") == c.code);
        CHECK(error.at("message") == c.message);
    }
    CHECK(fixture.result("gettxout", fmt::format(R"(["{}",4294967295])", kCoinbase)).is_null());
}

TEST_CASE("gettxoutsetinfo reads on the lane of scans, and ends when the server does or the client goes") {
    CoinsFixture fixture;
    fixture.feed_recorded_chain();
    CHECK(fixture.result("gettxoutsetinfo", R"(["none"])").at("txouts") == 568);
    CHECK(fixture.lanes == std::vector<Lane>{Lane::scan});
    const json empty = fixture.error("gettxoutsetinfo", R"([""])");
    CHECK(empty.at("code") == -8);
    CHECK(empty.at("message") == "'' is not a valid hash_type");
    fixture.departed = true;
    const json left = fixture.error("gettxoutsetinfo", "[]");
    CHECK(left.at("code") == -9);
    CHECK(left.at("message") == "The client has closed its side of the connection");
    fixture.stopping = true;
    const json stopped = fixture.error("gettxoutsetinfo", "[]");
    CHECK(stopped.at("code") == -9);
    CHECK(stopped.at("message") == "Shutting down");
}

TEST_SUITE_END();
