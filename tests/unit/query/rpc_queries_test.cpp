// SPDX-License-Identifier: MIT
#include "base/hex.hpp"
#include "primitives/block.hpp"
#include "primitives/subsidy.hpp"
#include "unit/query/rpc_fixture.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;
using nlohmann::json;

namespace {

json result_of(RpcFixture& fixture, const std::string& method, const std::string& params = "[]") {
    const json answer = json::parse(fixture.call(method, params));
    REQUIRE_MESSAGE(answer.at("error").is_null(), answer.dump());
    return answer.at("result");
}

std::string stands_in_list(const std::string& text) {
    return "[\"" + text + "\"]";
}

/// A fixture with a few blocks on it.
struct ChainFixture : RpcFixture {
    ChainFixture() : blocks(build_branch(regtest_genesis(), 5)) { node.submit_all(blocks); }
    std::vector<BuiltBlock> blocks;
};

}  // namespace

TEST_SUITE_BEGIN("query.rpc_queries");

TEST_CASE("a transaction is decoded in the form in which its scripts make sense") {
    RpcFixture fixture;
    const std::string genesis = encode_hex(chain_params(ChainKind::regtest).genesis).substr(162);
    const json decoded = result_of(fixture, "decoderawtransaction", stands_in_list(genesis));
    CHECK(decoded.at("txid") == "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b");
    CHECK_FALSE(decoded.contains("hex"));
    CHECK(decoded.at("vout").at(0).at("scriptPubKey").at("type") == "pubkey");
    // No inputs: as the old form it has one output, as the new one it is none.
    const std::string no_inputs =
        "01000000"
        "00"
        "01"
        "0100000000000000"
        "00"
        "00000000";
    CHECK(result_of(fixture, "decoderawtransaction", stands_in_list(no_inputs)).at("vout").size() == 1);
    CHECK(result_of(fixture, "decoderawtransaction", "[\"" + no_inputs + "\",false]").at("vin").empty());
    const std::string refused =
        RpcFixture::error(-22, "TX decode failed. Make sure the tx has at least one input.");
    CHECK(fixture.call("decoderawtransaction", "[\"" + no_inputs + "\",true]") == refused);
    for (const char* hex : {"", "zz", "00", "0"})
        CHECK(fixture.call("decoderawtransaction", stands_in_list(hex)) == refused);
    CHECK(
        result_of(fixture, "decoderawtransaction", "{\"hexstring\":\"" + genesis + "\",\"iswitness\":false}")
            .at("locktime") == 0);
}

TEST_CASE("a script is shown with what would pay to its hash") {
    RpcFixture fixture;
    const std::string key = "02e2a7b01fadbab713e0e021bfb16b6792821723f7a0860abff1f178512bd0c71a";
    const json multisig = result_of(fixture, "decodescript", stands_in_list("5121" + key + "51ae"));
    CHECK(multisig.at("type") == "multisig");
    CHECK_FALSE(multisig.contains("hex"));
    CHECK(multisig.at("p2sh").get<std::string>().starts_with("2"));
    CHECK(multisig.at("segwit").at("type") == "witness_v0_scripthash");
    CHECK(multisig.at("segwit").at("desc").get<std::string>().starts_with("wsh(multi(1," + key + "))#"));
    CHECK(multisig.at("segwit").at("p2sh-segwit").get<std::string>().starts_with("2"));
    const json pubkey = result_of(fixture, "decodescript", stands_in_list("21" + key + "ac"));
    CHECK(pubkey.at("segwit").at("type") == "witness_v0_keyhash");
    const json uncompressed =
        result_of(fixture, "decodescript", stands_in_list("4104" + std::string(128, '1') + "ac"));
    CHECK(uncompressed.contains("p2sh"));
    CHECK_FALSE(uncompressed.contains("segwit"));
    for (const char* script : {"6a", "51024e73", "ba", "50", "5102"}) {
        CAPTURE(script);
        CHECK_FALSE(result_of(fixture, "decodescript", stands_in_list(script)).contains("p2sh"));
    }
    const json empty = result_of(fixture, "decodescript", stands_in_list(""));
    CHECK(empty.at("asm") == "");
    CHECK(empty.contains("segwit"));
    CHECK(fixture.call("decodescript", stands_in_list("xyz")) ==
          RpcFixture::error(-8, "argument must be hexadecimal string (not 'xyz')"));
}

TEST_CASE("an address is described, or what is wrong with it") {
    RpcFixture fixture;
    CHECK(fixture.call("validateaddress", stands_in_list("mfWxJ45yp2SFn7UciZyNpvDKrzbhyfKrY8")) ==
          RpcFixture::result(R"({"isvalid":true,"address":"mfWxJ45yp2SFn7UciZyNpvDKrzbhyfKrY8",)"
                             R"("scriptPubKey":"76a914000000000000000000000000000000000000000088ac",)"
                             R"("isscript":false,"iswitness":false})"));
    CHECK(fixture.call("validateaddress", stands_in_list("bcrt1pfeesnyr2tx")) ==
          RpcFixture::result(R"({"isvalid":true,"address":"bcrt1pfeesnyr2tx","scriptPubKey":"51024e73",)"
                             R"("isscript":true,"iswitness":true})"));
    CHECK(fixture.call("validateaddress", stands_in_list("bcrt1ss4qsfnq9yx")) ==
          RpcFixture::result(R"({"isvalid":true,"address":"bcrt1ss4qsfnq9yx","scriptPubKey":"60028541",)"
                             R"("iswitness":true,"witness_version":16,"witness_program":"8541"})"));
    CHECK(
        fixture.call("validateaddress", stands_in_list("bcrt1pfeesnyr2tq")) ==
        RpcFixture::result(R"({"isvalid":false,"error_locations":[15],"error":"Invalid Bech32m checksum"})"));
    CHECK(
        fixture.call("validateaddress", stands_in_list("1111111111111111111114oLvT2")) ==
        RpcFixture::result(
            R"({"isvalid":false,"error_locations":[],"error":"Invalid or unsupported Base58-encoded address."})"));
    CHECK(fixture.call("validateaddress", stands_in_list("0OIl")) ==
          RpcFixture::result(R"({"isvalid":false,"error_locations":[],)"
                             R"("error":"Invalid or unsupported Segwit (Bech32) or Base58 encoding."})"));
}

TEST_CASE("transactions are proven by a coin of theirs, and found in a block that is named") {
    ChainFixture fixture;
    const ParsedBlock block = must(ParsedBlock::parse(fixture.blocks[2].raw));
    const std::string txid = block.transactions()[0].txid.display_hex();
    const std::string hash = fixture.blocks[2].hash.display_hex();
    const json proof = result_of(fixture, "gettxoutproof", "[[\"" + txid + "\"]]");
    CHECK(proof == result_of(fixture, "gettxoutproof", "[[\"" + txid + "\"],\"" + hash + "\"]"));
    CHECK(result_of(fixture, "verifytxoutproof", json::array({proof}).dump()) == json{txid});
    CHECK(fixture.call("gettxoutproof", "[[\"" + std::string(64, 'a') + "\"]]") ==
          RpcFixture::error(-5, "Transaction not yet in block"));
    // The first transaction decides which block is meant.
    const std::string elsewhere =
        must(ParsedBlock::parse(fixture.blocks[3].raw)).transactions()[0].txid.display_hex();
    const std::string not_all =
        RpcFixture::error(-5, "Not all transactions found in specified or retrieved block");
    CHECK(fixture.call("gettxoutproof", "[[\"" + txid + "\",\"" + elsewhere + "\"]]") == not_all);
    CHECK(fixture.call("gettxoutproof", "[[\"" + txid + "\",\"" + elsewhere + "\"],\"" + hash + "\"]") ==
          not_all);
    CHECK(
        result_of(fixture, "getrawtransaction", "[\"" + txid + "\",true,\"" + hash + "\"]").at("blockhash") ==
        hash);
    CHECK(fixture.call("getrawtransaction", stands_in_list(txid)) ==
          RpcFixture::error(-5,
                            "No such mempool transaction. Use -txindex or provide a block hash to enable "
                            "blockchain transaction queries. Use gettransaction for wallet transactions."));
    const std::string genesis_txid = "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b";
    CHECK(fixture.call("getrawtransaction", stands_in_list(genesis_txid)) ==
          RpcFixture::error(-5,
                            "The genesis block coinbase is not considered an ordinary transaction and cannot "
                            "be retrieved"));
    // The bytes of a good proof, changed: they prove nothing, and are no error.
    std::string changed = proof;
    changed[180] = changed[180] == '0' ? '1' : '0';
    CHECK(result_of(fixture, "verifytxoutproof", json{changed}.dump()).empty());
}

TEST_CASE("with an index a transaction is found without naming its block") {
    ChainFixture fixture;
    /// Knows the blocks up to a height.
    struct PartIndex final : TransactionIndex {
        [[nodiscard]] Result<std::optional<BlockHash>> find(const Txid& txid) const override {
            const auto row = rows.find(txid);
            return row == rows.end() ? std::nullopt : std::optional(row->second);
        }
        [[nodiscard]] Status status() const override { return shown; }
        std::map<Txid, BlockHash> rows;
        Status shown;
    };
    PartIndex index;
    fixture.context.tx_index = &index;
    std::vector<Txid> txids;
    for (const BuiltBlock& block : fixture.blocks)
        txids.push_back(must(ParsedBlock::parse(block.raw)).transactions()[0].txid);
    index.rows[txids[1]] = fixture.blocks[1].hash;
    index.shown = {.best = {.hash = fixture.blocks[1].hash, .height = {2}}, .synced = false};

    const json found = result_of(fixture, "getrawtransaction", "[\"" + txids[1].display_hex() + "\",1]");
    CHECK(found.at("blockhash") == fixture.blocks[1].hash.display_hex());
    CHECK(found.at("confirmations") == 4);
    CHECK_FALSE(found.contains("in_active_chain"));
    // What the index has not seen yet is searched for among the newest blocks.
    CHECK(result_of(fixture, "getrawtransaction", "[\"" + txids[4].display_hex() + "\",1]")
              .at("confirmations") == 1);
    const std::string unknown = stands_in_list(std::string(64, 'a'));
    CHECK(
        fixture.call("getrawtransaction", unknown) ==
        RpcFixture::error(-5,
                          "No such mempool transaction. Blockchain transactions are still in the process of "
                          "being indexed. Use gettransaction for wallet transactions."));
    index.shown.synced = true;
    CHECK(fixture.call("getrawtransaction", unknown) ==
          RpcFixture::error(-5,
                            "No such mempool or blockchain transaction. Use gettransaction for wallet "
                            "transactions."));
    CHECK(result_of(fixture, "getindexinfo").dump() ==
          R"({"txindex":{"best_block_height":2,"synced":true}})");
    CHECK(result_of(fixture, "getindexinfo", stands_in_list("nosuch")) == json::object());
}

TEST_CASE("a transaction that is indexed while it is looked up is found") {
    ChainFixture fixture;
    /// Does not know any transaction, and has seen the tip as soon as it was asked for one.
    struct LateIndex final : TransactionIndex {
        [[nodiscard]] Result<std::optional<BlockHash>> find(const Txid&) const override {
            shown.best = tip;
            return std::nullopt;
        }
        [[nodiscard]] Status status() const override { return shown; }
        Tip tip;
        mutable Status shown;
    };
    LateIndex index;
    index.shown.best = {.hash = fixture.blocks[3].hash, .height = {4}};
    index.tip = {.hash = fixture.blocks[4].hash, .height = {5}};
    fixture.context.tx_index = &index;
    const Txid txid = must(ParsedBlock::parse(fixture.blocks[4].raw)).transactions()[0].txid;
    CHECK(result_of(fixture, "getrawtransaction", "[\"" + txid.display_hex() + "\",1]").at("blockhash") ==
          fixture.blocks[4].hash.display_hex());
}

TEST_CASE("looking for the block of a proof ends when the server does or the client goes") {
    ChainFixture fixture;
    const std::string arguments = "[[\"" + std::string(64, 'a') + "\"]]";
    fixture.departed = [] { return true; };
    CHECK(fixture.call("gettxoutproof", arguments) ==
          RpcFixture::error(-9, "The client has closed its side of the connection"));
    fixture.context.stopping = [] { return true; };
    CHECK(fixture.call("gettxoutproof", arguments) == RpcFixture::error(-9, "Shutting down"));
}

TEST_CASE("a block that has left the chain says so") {
    ChainFixture fixture;
    const std::string hash = fixture.blocks.back().hash.display_hex();
    must(fixture.node.chain().invalidate_block(fixture.blocks.back().hash));
    const json block = result_of(fixture, "getblock", "[\"" + hash + "\",2]");
    CHECK(block.at("confirmations") == -1);
    CHECK_FALSE(block.contains("nextblockhash"));
    const std::string txid = block.at("tx").at(0).at("txid");
    const json transaction = result_of(fixture, "getrawtransaction", "[\"" + txid + "\",2,\"" + hash + "\"]");
    CHECK(transaction.at("in_active_chain") == false);
    CHECK(transaction.at("confirmations") == 0);
    CHECK_FALSE(transaction.contains("blocktime"));
    CHECK(fixture.call("verifytxoutproof", json::array({result_of(fixture, "gettxoutproof",
                                                                  "[[\"" + txid + "\"],\"" + hash + "\"]")})
                                               .dump()) == RpcFixture::error(-5, "Block not found in chain"));
}

TEST_CASE("a signet is told from others by its challenge, and no other chain has one") {
    RpcFixture fixture;
    const auto challenges = [&] {
        json found = json::array();
        for (const char* method : {"getblockchaininfo", "getmininginfo"}) {
            const json info = result_of(fixture, method);
            found.push_back(info.value("signet_challenge", ""));
        }
        return found;
    };
    CHECK(challenges() == json{"", ""});
    fixture.context.params = &chain_params(ChainKind::signet);
    // The default signet's: one of two keys has to sign (BIP 325).
    const std::string challenge =
        "512103ad5e0edad18cb1f0fc0d28a3d4f1f3e445640337489abb10404f2d1e086be430"
        "210359ef5021964fe22d6f8e05b2463c9540ce96883fe3b278760f048f5189f2e6c452ae";
    CHECK(challenges() == json{challenge, challenge});
}

TEST_CASE("fees and what was spent are told of blocks that were connected, and missing from others") {
    RpcFixture fixture;
    const std::vector<BuiltBlock> blocks = build_branch(regtest_genesis(), 101);
    fixture.node.submit_all(blocks);
    fixture.node.submit_all({child_of(blocks.back(), 1)});
    BlockSpec spec = child_spec(blocks.back(), 2);
    spec.transactions.push_back(
        spend({.txid = blocks.front().coinbase.txid(), .position = 0}, 50 * kCoin - 1234));
    const BuiltBlock second = build_block(spec);
    fixture.node.submit_all({second});
    const std::string hash = second.hash.display_hex();
    const auto transaction = [&](int verbosity) {
        return result_of(fixture, "getblock", fmt::format("[\"{}\",{}]", hash, verbosity)).at("tx").at(1);
    };

    CHECK(result_of(fixture, "getblock", stands_in_list(hash)).at("confirmations") == -1);
    CHECK(transaction(1) == spec.transactions.front().txid().display_hex());
    for (const int verbosity : {2, 3}) {
        CHECK_FALSE(transaction(verbosity).contains("fee"));
        CHECK_FALSE(transaction(verbosity).at("vin").at(0).contains("prevout"));
    }
    CHECK(fixture.call("getblockstats", stands_in_list(hash)) ==
          RpcFixture::error(-1, "Can't read undo data from disk"));

    must(fixture.node.chain().invalidate_block(child_of(blocks.back(), 1).hash));
    CHECK(result_of(fixture, "getblock", stands_in_list(hash)).at("confirmations") == 1);
    CHECK(fixture.call("getblock", "[\"" + hash + "\",2]").contains(R"("fee":0.00001234,)"));
    CHECK(transaction(3).contains("fee"));
    CHECK_FALSE(transaction(2).at("vin").at(0).contains("prevout"));
    const json prevout = transaction(3).at("vin").at(0).at("prevout");
    CHECK(prevout.at("generated") == true);
    CHECK(prevout.at("height") == 1);
    CHECK(prevout.at("value") == 50);
    CHECK(result_of(fixture, "getblockstats", stands_in_list(hash)).at("totalfee") == 1234);
}

TEST_CASE("the chain's figures") {
    ChainFixture fixture;
    const json mining = result_of(fixture, "getmininginfo");
    CHECK(mining.at("blocks") == 5);
    CHECK(mining.at("chain") == "regtest");
    CHECK(mining.at("pooledtx") == 0);
    CHECK(mining.at("networkhashps") == result_of(fixture, "getnetworkhashps"));
    CHECK(mining.at("networkhashps") > 0);
    CHECK(result_of(fixture, "getnetworkhashps", "[120,0]") == 0);
    CHECK(fixture.call("getnetworkhashps", "[0]") ==
          RpcFixture::error(-8, "Invalid nblocks. Must be a positive number or -1."));
    CHECK(fixture.call("getnetworkhashps", "[1,6]") ==
          RpcFixture::error(-8, "Block does not exist at specified height"));
    CHECK(result_of(fixture, "verifychain") == true);
    CHECK(result_of(fixture, "verifychain", "{\"checklevel\":4,\"nblocks\":0}") == true);
    fixture.reader.failure = Error{Errc::io, "blocks/00000.mdb: Input/output error"};
    CHECK(result_of(fixture, "verifychain") == false);
    CHECK(fixture.call("getchaintxstats", "[5]") ==
          RpcFixture::error(-8, "Invalid block count: should be between 0 and the block's height - 1"));
    const json stats = result_of(fixture, "getchaintxstats");
    CHECK(stats.at("window_block_count") == 4);
    CHECK(stats.at("txcount") == 6);
}

TEST_CASE("soft forks are told with their votes") {
    ChainFixture fixture;
    const json info = result_of(fixture, "getdeploymentinfo");
    CHECK(info.at("height") == 5);
    const json& deployments = info.at("deployments");
    CHECK(deployments.at("segwit").dump() == R"({"active":true,"height":0,"type":"buried"})");
    CHECK(deployments.at("taproot").at("bip9").at("status") == "active");
    CHECK(deployments.at("taproot").at("height") == 0);
    CHECK(deployments.at("testdummy").at("bip9").at("status") == "defined");
    CHECK(deployments.at("testdummy").at("active") == false);
    CHECK(fixture.call("getdeploymentinfo", stands_in_list(std::string(64, 'a'))) ==
          RpcFixture::error(-5, "Block not found"));
}

TEST_CASE("a vote of the test deployment starts, locks in and takes force, period by period") {
    RpcFixture fixture;
    BuiltBlock tip = regtest_genesis();
    const auto status = [&] {
        return result_of(fixture, "getdeploymentinfo").at("deployments").at("testdummy");
    };
    const auto mine_to = [&](std::uint32_t height, std::int32_t version) {
        while (tip.height.value < height) {
            BlockSpec spec = child_spec(tip);
            spec.version = version;
            spec.coinbase_amount = block_subsidy(spec.height, chain_params(ChainKind::regtest));
            tip = build_block(spec);
            REQUIRE(fixture.node.submit(tip) == "");
        }
    };
    fixture.node.clock().set_fixed(std::int64_t{regtest_genesis().time} + 600'000);
    mine_to(143, 0x20000000);
    CHECK(status().at("bip9").at("status") == "defined");
    CHECK(status().at("bip9").at("status_next") == "started");
    mine_to(150, 0x30000000);
    const json started = status().at("bip9");
    CHECK(started.at("status") == "started");
    CHECK(started.at("bit") == 28);
    CHECK(started.at("since") == 144);
    CHECK(started.at("signalling") == "#######");
    CHECK(started.at("statistics").at("count") == 7);
    CHECK(started.at("statistics").at("threshold") == 108);
    mine_to(287, 0x30000000);
    CHECK(status().at("bip9").at("status_next") == "locked_in");
    mine_to(431, 0x20000000);
    CHECK(status().at("bip9").at("status") == "locked_in");
    CHECK(status().at("active") == true);
    CHECK(status().at("height") == 432);
}

TEST_CASE("no templates are made, and a proposal is tried") {
    ChainFixture fixture;
    const std::string not_connected = RpcFixture::error(-9, "Bitcoin Core is not connected!");
    CHECK(fixture.call("getblocktemplate") == not_connected);
    CHECK(fixture.call("getblocktemplate", "[{\"rules\":[\"segwit\"]}]") == not_connected);
    CHECK(fixture.call("getblocktemplate", "[{\"mode\":\"x\"}]") == RpcFixture::error(-8, "Invalid mode"));
    const auto propose = [&](const BuiltBlock& block) {
        return result_of(fixture, "getblocktemplate",
                         "[{\"mode\":\"proposal\",\"data\":\"" + encode_hex(block.raw.bytes()) + "\"}]");
    };
    CHECK(propose(fixture.blocks.back()) == "duplicate");
    CHECK(propose(child_of(fixture.blocks.front(), 7)) == "inconclusive-not-best-prevblk");
    CHECK(propose(child_of(fixture.blocks.back())).is_null());
    CHECK(fixture.call("getblocktemplate", "[{\"mode\":\"proposal\",\"data\":\"00\"}]") ==
          RpcFixture::error(-22, "Block decode failed"));
    CHECK(fixture.call("getblocktemplate", "[{\"mode\":\"proposal\"}]") ==
          RpcFixture::error(-3, "Missing data String key for proposal"));
    CHECK(fixture.call("estimatesmartfee", "[6]") ==
          RpcFixture::result(R"({"errors":["Insufficient data or no feerate found"],"blocks":0})"));
    CHECK(fixture.call("estimatesmartfee", "[1009]") ==
          RpcFixture::error(-8, "Invalid conf_target, must be between 1 and 1008"));
}

TEST_CASE("the node shows itself as release 28.1, and as what it is") {
    RpcFixture fixture;
    const json network = result_of(fixture, "getnetworkinfo");
    CHECK(network.at("version") == 280100);
    CHECK(network.at("subversion") == "/Satoshi:28.1.0/");
    CHECK(network.at("localrelay") == true);
    CHECK(network.at("networkactive") == true);
    CHECK(network.at("warnings") == json::array());
    CHECK(network.at("blockpub") == "0.1.0");
    CHECK(result_of(fixture, "getconnectioncount") == 0);
    for (const char* method : {"getpeerinfo", "getnodeaddresses"})
        CHECK(result_of(fixture, method) == json::array());
    CHECK(fixture.call("getnodeaddresses", "[1,\"ipv9\"]") ==
          RpcFixture::error(-8, "Network not recognized: ipv9"));
}

TEST_CASE("a block that could not be read is a warning until the end") {
    RpcFixture fixture;
    const std::string genesis = chain_params(ChainKind::regtest).genesis_hash.display_hex();
    fixture.reader.failure = Error{Errc::corrupt, "blob 0 of segment 00000 is damaged"};
    CHECK(fixture.call("getblock", "[\"" + genesis + "\",0]") ==
          RpcFixture::error(-1, "Block not found on disk"));
    fixture.reader.failure.reset();
    const json warnings = result_of(fixture, "getblockchaininfo").at("warnings");
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0] == "Block " + genesis + " cannot be read: blob 0 of segment 00000 is damaged");
}

TEST_CASE("waits end with the block, with the time, with the client and with the server") {
    ChainFixture fixture;
    const std::string tip = fixture.blocks.back().hash.display_hex();
    const json now = {{"hash", tip}, {"height", 5}};
    CHECK(result_of(fixture, "waitforblockheight", "[5]") == now);
    CHECK(result_of(fixture, "waitforblock", stands_in_list(tip)) == now);
    CHECK(result_of(fixture, "waitfornewblock", "[1]") == now);
    CHECK(result_of(fixture, "waitforblockheight", "[6,1]") == now);
    CHECK(fixture.call("waitfornewblock", "[-1]") == RpcFixture::error(-1, "Negative timeout"));

    const BuiltBlock next = child_of(fixture.blocks.back());
    std::string answer;
    std::thread waiter([&] { answer = fixture.call("waitforblockheight", "{\"height\":6}"); });
    REQUIRE(fixture.node.submit(next) == "");
    waiter.join();
    CHECK(json::parse(answer).at("result").at("hash") == next.hash.display_hex());

    int asked = 0;
    fixture.departed = [&] { return ++asked == 2; };
    CHECK(result_of(fixture, "waitfornewblock").at("height") == 6);
    CHECK(asked == 2);
    fixture.departed = {};

    std::thread last([&] { answer = fixture.call("waitfornewblock"); });
    fixture.tip_waiter.stop();
    last.join();
    CHECK(json::parse(answer).at("result").at("height") == 6);
}

TEST_CASE("the subscribers are waited for") {
    ChainFixture fixture;
    (void)fixture.node.released();
    CHECK(fixture.call("syncwithvalidationinterfacequeue") == RpcFixture::result("null"));
}

TEST_CASE("the process: calls under way, memory, log, clock, indexes") {
    RpcFixture fixture;
    const json info = result_of(fixture, "getrpcinfo");
    REQUIRE(info.at("active_commands").size() == 1);
    CHECK(info.at("active_commands")[0].at("method") == "getrpcinfo");
    CHECK(info.at("active_commands")[0].at("duration") >= 0);
    CHECK(info.at("logpath") == "/somewhere/debug.log");
    CHECK(result_of(fixture, "getmemoryinfo").at("locked").at("total") == 0);
    CHECK(result_of(fixture, "getmemoryinfo", stands_in_list("mallocinfo"))
              .get<std::string>()
              .starts_with("<malloc"));
    CHECK(fixture.call("getmemoryinfo", stands_in_list("x")) == RpcFixture::error(-8, "unknown mode x"));
    CHECK(result_of(fixture, "logging", "[[\"all\"],[\"http\"]]").contains("zmq"));
    CHECK(fixture.switched == std::vector<std::pair<std::string, bool>>{{"all", true}, {"http", false}});
    CHECK(fixture.call("logging", "[[\"nosuch\"]]") ==
          RpcFixture::error(-8, "unknown logging category nosuch"));
    CHECK(fixture.call("setmocktime", "[1234567890]") == RpcFixture::result("null"));
    CHECK(fixture.node.clock().now_seconds() == 1234567890);
    CHECK(fixture.call("setmocktime", "[-1]") ==
          RpcFixture::error(-8, "Mocktime must be in the range [0, 9223372036], not -1."));
    CHECK(result_of(fixture, "getindexinfo") == json::object());
}

TEST_CASE("every method has a page of help, and takes its arguments by name") {
    RpcFixture fixture;
    const std::string list = result_of(fixture, "help");
    std::size_t methods = 0;
    for (std::size_t begin = 0; begin < list.size();) {
        const std::size_t end = std::min(list.find('\n', begin), list.size());
        const std::string line = list.substr(begin, end - begin);
        begin = end + 1;
        if (line.empty() || line.starts_with("==")) continue;
        const std::string name = line.substr(0, line.find(' '));
        CAPTURE(name);
        const std::string page = result_of(fixture, "help", stands_in_list(name));
        CHECK(page.starts_with(line));
        CHECK(page.find("\nResult") != std::string::npos);
        CHECK(page.find("\nExamples:\n") != std::string::npos);
        const json answer = json::parse(fixture.call(name, "{\"nosuchname\":1}"));
        CHECK(answer.at("error").at("message") == "Unknown named parameter nosuchname");
        ++methods;
    }
    CHECK(methods > 40);
}

TEST_SUITE_END();
