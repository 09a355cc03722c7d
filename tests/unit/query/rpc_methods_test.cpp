// SPDX-License-Identifier: MIT
#include "base/hex.hpp"
#include "unit/query/rpc_fixture.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <string_view>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;

namespace {

std::string in_list(const std::string& text) {
    return "[\"" + text + "\"]";
}

MinedBlock mined(int number) {
    std::array<std::uint8_t, 32> wire{};
    wire[0] = static_cast<std::uint8_t>(number);
    return {BlockHash(wire),
            SharedBytes::copy_of(std::array<std::uint8_t, 2>{0xab, static_cast<std::uint8_t>(number)})};
}

const std::string kZeros(62, '0');

}  // namespace

TEST_SUITE_BEGIN("query.rpc_methods");

TEST_CASE("getblock looks at its arguments in the node's order") {
    RpcFixture fixture;
    const std::string genesis = chain_params(ChainKind::regtest).genesis_hash.display_hex();
    const std::string hex = encode_hex(chain_params(ChainKind::regtest).genesis);
    CHECK(fixture.call("getblock", "[\"" + genesis + "\",0]") == RpcFixture::result("\"" + hex + "\""));
    CHECK(fixture.call("getblock", "[\"" + genesis + "\",false]") == RpcFixture::result("\"" + hex + "\""));
    CHECK(fixture.call("getblock", "[\"" + genesis + "\",-5]") == RpcFixture::result("\"" + hex + "\""));
    CHECK(fixture.call("getblock", "{\"blockhash\":\"" + genesis + "\",\"verbose\":0}") ==
          RpcFixture::result("\"" + hex + "\""));
    CHECK(fixture.call("getblock", "[\"" + kZeros + "ab\",\"x\"]") ==
          RpcFixture::error(-3, "JSON value of type string is not of expected type number"));
    CHECK(fixture.call("getblock", "[\"zz\",\"x\"]") ==
          RpcFixture::error(-8, "blockhash must be of length 64 (not 2, for 'zz')"));
    CHECK(fixture.call("getblock", "[7]") ==
          RpcFixture::error(-3,
                            "Wrong type passed:\\n{\\n    \\\"Position 1 (blockhash)\\\": "
                            "\\\"JSON value of type number is not of expected type string\\\"\\n}"));
    for (const char* verbosity : {"", ",1", ",2", ",3", ",true"}) {
        CAPTURE(verbosity);
        CHECK(fixture.call("getblock", "[\"" + kZeros + "ab\"" + verbosity + "]") ==
              RpcFixture::error(-5, "Block not found"));
        const bool ids_alone = std::string_view(verbosity) != ",2" && std::string_view(verbosity) != ",3";
        const std::string answer = fixture.call("getblock", "[\"" + genesis + "\"" + verbosity + "]");
        CHECK(answer.starts_with("{\"result\":{\"hash\":\"" + genesis + "\",\"confirmations\":1,"));
        CHECK((answer.find("\"tx\":[\"") != std::string::npos) == ids_alone);
        fixture.reader.failure = Error{Errc::unavailable, "Block not available (pruned data)"};
        // The ids come from the facts, whatever has become of the block.
        CHECK(fixture.call("getblock", "[\"" + genesis + "\"" + verbosity + "]") ==
              (ids_alone ? answer : RpcFixture::error(-1, "Block not available (pruned data)")));
        fixture.reader.failure.reset();
    }
}

TEST_CASE("a block that cannot be read is the node's error, and the client hears no path") {
    RpcFixture fixture;
    const std::string genesis = chain_params(ChainKind::regtest).genesis_hash.display_hex();
    for (const Errc code : {Errc::io, Errc::corrupt}) {
        fixture.reader.failure = Error{code, "blocks/00000.mdb: Input/output error"};
        CHECK(fixture.call("getblock", "[\"" + genesis + "\",0]") ==
              RpcFixture::error(-1, "Block not found on disk"));
    }
}

TEST_CASE("getblockhash tells heights that are not there from numbers that are none") {
    RpcFixture fixture;
    const std::string genesis = chain_params(ChainKind::regtest).genesis_hash.display_hex();
    CHECK(fixture.call("getblockhash", "[0]") == RpcFixture::result("\"" + genesis + "\""));
    CHECK(fixture.call("getblockhash", "{\"height\":0}") == RpcFixture::result("\"" + genesis + "\""));
    for (const char* height : {"1", "-1", "2147483647", "-2147483648"}) {
        CHECK(fixture.call("getblockhash", std::string("[") + height + "]") ==
              RpcFixture::error(-8, "Block height out of range"));
    }
    for (const char* height : {"2147483648", "1.0", "1e1", "18446744073709551616"}) {
        CHECK(fixture.call("getblockhash", std::string("[") + height + "]") ==
              RpcFixture::error(-1, "JSON integer out of range"));
    }
}

TEST_CASE("submitblock and submitheader refuse what does not decode") {
    RpcFixture fixture;
    for (const char* hex : {"", "0", "zz", "00", "0x00"}) {
        CAPTURE(hex);
        CHECK(fixture.call("submitblock", in_list(hex)) == RpcFixture::error(-22, "Block decode failed"));
        CHECK(fixture.call("submitheader", in_list(hex)) ==
              RpcFixture::error(-22, "Block header decode failed"));
    }
    CHECK(fixture.call("submitblock", "[\"00\",\"dummy\"]") == RpcFixture::error(-22, "Block decode failed"));
    const std::string orphan =
        "00000020" + std::string(64, 'a') + std::string(64, '0') + "00000000ffff7f2000000000";
    CHECK(fixture.call("submitheader", in_list(orphan)) ==
          RpcFixture::error(-25, "Must submit previous header (" + std::string(64, 'a') + ") first"));
}

TEST_CASE("the methods that turn the chain know only blocks that are there") {
    RpcFixture fixture;
    for (const char* method : {"invalidateblock", "reconsiderblock", "preciousblock"}) {
        CAPTURE(method);
        CHECK(fixture.call(method, in_list(kZeros + "ab")) == RpcFixture::error(-5, "Block not found"));
        CHECK(fixture.call(method, in_list("abc")) ==
              RpcFixture::error(-8, "blockhash must be of length 64 (not 3, for 'abc')"));
    }
}

TEST_CASE("generating pays the address or descriptor, and ends when the tries do") {
    RpcFixture fixture;
    const std::string address = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";
    const std::string script = "0014751e76e8199196d454941c45d1b3a323f1433bd6";
    const auto hashes = [](int count) {
        std::string list;
        for (int i = 1; i <= count; ++i) list += (i > 1 ? ",\"" : "\"") + mined(i).hash.display_hex() + "\"";
        return RpcFixture::result("[" + list + "]");
    };
    const auto prepare = [&](int count) {
        fixture.miner.requests.clear();
        fixture.miner.answers.clear();
        for (int i = 1; i <= count; ++i) fixture.miner.answers.emplace_back(mined(i));
    };
    prepare(3);
    CHECK(fixture.call("generatetoaddress", "[3,\"" + address + "\"]") == hashes(3));
    REQUIRE(fixture.miner.requests.size() == 3);
    CHECK(encode_hex(fixture.miner.requests[0].coinbase_script) == script);
    CHECK(fixture.miner.requests[0].max_tries == 1'000'000);
    prepare(2);
    CHECK(fixture.call("generatetoaddress", "[5,\"" + address + "\",7]") == hashes(2));
    CHECK(fixture.miner.requests[0].max_tries == 7);
    // The tries are those of all blocks together.
    prepare(2);
    fixture.miner.answers[0]->missed_tries = 5;
    CHECK(fixture.call("generatetodescriptor", "[2,\"raw(51)\",7]") == hashes(2));
    CHECK(fixture.miner.requests[1].max_tries == 2);
    prepare(1);
    CHECK(fixture.call("generatetoaddress", "[1,\"" + address + "\",-1]") == hashes(1));
    CHECK(fixture.miner.requests[0].max_tries == std::numeric_limits<std::uint64_t>::max());
    prepare(1);
    CHECK(fixture.call("generatetodescriptor", "[1,\"raw(51)\",18446744073709551615]") == hashes(1));
    CHECK(fixture.miner.requests[0].max_tries == std::numeric_limits<std::uint64_t>::max());
    const std::string out_of_range = RpcFixture::error(-1, "JSON integer out of range");
    CHECK(fixture.call("generatetoaddress", "[1,\"" + address + "\",8589934592]") == out_of_range);
    CHECK(fixture.call("generatetodescriptor", "[1,\"raw(51)\",-1]") == out_of_range);
    CHECK(fixture.call("generatetodescriptor", "[1,\"raw(51)\",18446744073709551616]") == out_of_range);
    // Numbers are looked at before the address.
    CHECK(fixture.call("generatetoaddress", "[8589934592,\"nonsense\"]") == out_of_range);
    prepare(1);
    CHECK(fixture.call("generatetodescriptor", "[1,\"raw(51)\"]") == hashes(1));
    CHECK(encode_hex(fixture.miner.requests[0].coinbase_script) == "51");
    CHECK(fixture.call("generatetoaddress", "[0,\"" + address + "\"]") == RpcFixture::result("[]"));
    CHECK(fixture.call("generatetoaddress", "[1,\"nonsense\"]") ==
          RpcFixture::error(-5, "Error: Invalid address"));
    CHECK(fixture.call("generatetoaddress", "[1,\"bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4\"]") ==
          RpcFixture::error(-5, "Error: Invalid address"));
    CHECK(fixture.call("generatetodescriptor", "[1,\"nonsense\"]").find("\"code\":-5") != std::string::npos);
    fixture.miner.answers.clear();
    fixture.miner.answers.emplace_back(mined(1));
    fixture.miner.answers.emplace_back(std::unexpected(Error{Errc::io, "it broke"}));
    CHECK(fixture.call("generatetoaddress", "[2,\"" + address + "\"]") == RpcFixture::error(-1, "it broke"));
    const auto fails_with = [&](Errc code, const std::string& context) {
        fixture.miner.answers.clear();
        // A mempool that changes meanwhile gets another chance, a few times.
        for (int i = 0; i < 5; ++i) fixture.miner.answers.emplace_back(std::unexpected(Error{code, context}));
        return fixture.call("generatetoaddress", "[1,\"" + address + "\"]");
    };
    CHECK(fails_with(Errc::invalid_argument, "TestBlockValidity failed: time-too-new") ==
          RpcFixture::error(-1, "CreateNewBlock: TestBlockValidity failed: time-too-new"));
    CHECK(fails_with(Errc::corrupt, "ProcessNewBlock, block not accepted") ==
          RpcFixture::error(-32603, "ProcessNewBlock, block not accepted"));
}

TEST_CASE("generateblock takes serialized transactions, and no others") {
    RpcFixture fixture;
    // The payment of mainnet's block 170 as an example of a transaction.
    const std::string coinbase_like =
        "01000000010000000000000000000000000000000000000000000000000000000000000000ffffffff0704ffff001d0102ff"
        "ffffff0100f2052a0100000001"
        "5100000000";
    fixture.miner.answers.emplace_back(mined(9));
    CHECK(fixture.call("generateblock", "[\"raw(51)\",[\"" + coinbase_like + "\"],false]") ==
          RpcFixture::result("{\"hash\":\"" + mined(9).hash.display_hex() + "\",\"hex\":\"ab09\"}"));
    REQUIRE(fixture.miner.requests.size() == 1);
    CHECK_FALSE(fixture.miner.requests[0].submit);
    REQUIRE(fixture.miner.requests[0].transactions.size() == 1);
    CHECK(encode_hex(fixture.miner.requests[0].transactions[0].bytes()) == coinbase_like);
    fixture.miner.answers.emplace_back(mined(9));
    CHECK(fixture.call("generateblock", "[\"bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080\",[]]") ==
          RpcFixture::result("{\"hash\":\"" + mined(9).hash.display_hex() + "\"}"));
    CHECK(fixture.call("generateblock", "[\"nonsense\",[]]") ==
          RpcFixture::error(-5, "Error: Invalid address or descriptor"));
    CHECK(fixture.call("generateblock", "[\"raw(51)\",[\"" + kZeros + "ab\"]]") ==
          RpcFixture::error(-5, "Transaction " + kZeros + "ab not in mempool."));
    for (const std::string& wrong :
         {std::string("00"), std::string(""), std::string("zz"), coinbase_like + "00"}) {
        CHECK(fixture.call("generateblock", "[\"raw(51)\",[\"" + wrong + "\"]]") ==
              RpcFixture::error(-22, "Transaction decode failed for " + wrong +
                                         ". Make sure the tx has at least one input."));
    }
    CHECK(fixture.call("generateblock", "[\"raw(51)\",[5]]") ==
          RpcFixture::error(-3, "JSON value of type number is not of expected type string"));
    fixture.miner.answers.emplace_back(
        std::unexpected(Error{Errc::invalid_argument, "TestBlockValidity failed: bad-txns"}));
    CHECK(fixture.call("generateblock", "[\"raw(51)\",[]]") ==
          RpcFixture::error(-25, "TestBlockValidity failed: bad-txns"));
    CHECK(fixture.call("generateblock", "[\"raw(51)\",[]]") ==
          RpcFixture::error(-1, "Failed to make block."));
    fixture.context.miner = nullptr;
    CHECK(fixture.call("generateblock", "[\"raw(51)\",[]]") ==
          RpcFixture::error(-1, "blocks can be made on regtest only"));
}

TEST_CASE("notifications are listed row by row with the endpoint's mark behind") {
    RpcFixture fixture;
    CHECK(fixture.call("getzmqnotifications") == RpcFixture::result("[]"));
    fixture.notifications.list = {{"pubhashblock", "tcp://127.0.0.1:28332", 1000, 5000},
                                  {"pubrawtx", "ipc:///x", 0, 0}};
    CHECK(fixture.call("getzmqnotifications") ==
          RpcFixture::result(
              R"([{"type":"pubhashblock","address":"tcp://127.0.0.1:28332","hwm":1000,"effective_hwm":5000},)"
              R"({"type":"pubrawtx","address":"ipc:///x","hwm":0,"effective_hwm":0}])"));
}

TEST_CASE("the daemon's own state is shown with every counter") {
    RpcFixture fixture;
    PublisherStatus status;
    status.endpoint = "tcp://127.0.0.1:28332";
    status.next_index = 7;
    status.read_failures = 2;
    status.failing = true;
    status.last_error = "a \"read\" failed";
    status.topics = {{"rawblock", 3, 900}};
    fixture.publishers.list = {status};
    const std::string text = fixture.call("getblockpubinfo");
    CHECK(text.find(R"({"result":{"version":"0.1.0","chain":{"height":0,"best_header_height":0,)") == 0);
    CHECK(text.find(
              R"("durable_events":1,"write_error":"","read_error":"","write_stopped":false,"halted":""})") !=
          std::string::npos);
    CHECK(text.find(R"("store":{"commits":)") != std::string::npos);
    CHECK(text.find(R"("read_failures":0,"last_read_error":"","pending_bytes")") != std::string::npos);
    CHECK(
        text.find(
            R"("publishers":[{"endpoint":"tcp://127.0.0.1:28332","next_event":7,"connections":0,"failing":true,"read_failures":2,)"
            R"("send_failures":0,"blocks_given_up":0,"mempool_events_lost":0,"last_error":"a \"read\" failed",)"
            R"("topics":[{"topic":"rawblock","messages":3,"bytes":900}]}])") != std::string::npos);
}

TEST_CASE("echo, uptime, stop and help answer") {
    RpcFixture fixture;
    CHECK(fixture.call("echo", R"(["a",1.50,null,{"b":[true]}])") ==
          RpcFixture::result(R"(["a",1.50,null,{"b":[true]}])"));
    CHECK(fixture.call("echo", R"({"arg1":2,"arg0":"x"})") == RpcFixture::result(R"(["x",2])"));
    CHECK(fixture.call("echojson") == RpcFixture::result("[]"));
    CHECK(fixture.call("uptime") == RpcFixture::result("0"));
    CHECK(fixture.stops == 0);
    CHECK(fixture.call("stop") == RpcFixture::result("\"blockpub stopping\""));
    CHECK(fixture.stops == 1);
    CHECK(fixture.call("help", "[\"nosuch\"]") == RpcFixture::result("\"help: unknown command: nosuch\""));
    // What clients for the command line ask to know which arguments to quote.
    const std::string conversions = fixture.call("help", "[\"dump_all_command_conversions\"]");
    CHECK(conversions.find(R"(["echo",0,"arg0",true],["echo",1,"arg1",true],)") != std::string::npos);
    CHECK(conversions.find(R"(["getblock",0,"blockhash",true],["getblock",1,"verbosity",false],)"
                           R"(["getblock",1,"verbose",false],)") != std::string::npos);
    CHECK(fixture.call("help", "[5]").find("Position 1 (command)") != std::string::npos);
}

TEST_CASE("help knows every method, and each page begins with its line of the list") {
    RpcFixture fixture;
    JsonDocument list;
    REQUIRE(list.parse(fixture.call("help")));
    const std::string all(list.root().find("result")->text());
    CHECK(all.starts_with(
        "== Blockchain ==\ngetbestblockhash\ngetblock \"blockhash\" ( verbosity )\ngetblockchaininfo\n"));
    CHECK(all.find("\n\n== Control ==\ngetmemoryinfo ( \"mode\" )\ngetrpcinfo\nhelp ( \"command\" )\n") !=
          std::string::npos);
    CHECK(all.find("\ngenerateblock \"output\" [\"rawtx/txid\",...] ( submit )\n") != std::string::npos);
    CHECK(all.find("\nsubmitblock \"hexdata\" ( \"dummy\" )\n") != std::string::npos);
    CHECK(all.find("invalidateblock") == std::string::npos);
    std::vector<std::string> methods{
        "invalidateblock \"blockhash\"", "reconsiderblock \"blockhash\"",
        "echo ( \"arg0\" \"arg1\" \"arg2\" \"arg3\" \"arg4\" \"arg5\" \"arg6\" \"arg7\" \"arg8\" \"arg9\" )"};
    for (std::size_t at = 0; at < all.size();) {
        const std::size_t end = std::min(all.find('\n', at), all.size());
        const std::string line = all.substr(at, end - at);
        if (!line.empty() && !line.starts_with("==")) methods.push_back(line);
        at = end + 1;
    }
    CHECK(methods.size() >= 47);
    for (const std::string& line : methods) {
        CAPTURE(line);
        JsonDocument answer;
        REQUIRE(answer.parse(fixture.call("help", in_list(line.substr(0, line.find(' '))))));
        const std::string page(answer.root().find("result")->text());
        CHECK(page.starts_with(line + "\n\n"));
        CHECK((line.find(' ') == std::string::npos) ==
              (page.find("\n\nArguments:\n1. ") == std::string::npos));
        CHECK(page.find("\n\nResult") != std::string::npos);
        CHECK(page.find("\n\nExamples:\n> bitcoin-cli " + line.substr(0, line.find(' '))) !=
              std::string::npos);
    }
}

TEST_CASE("what waits for the chain is told from what reads a snapshot") {
    RpcFixture fixture;
    const auto waits = [&](const std::string& method) {
        HttpRequest request;
        request.body = R"({"id":1,"method":")" + method + R"(","params":["x"]})";
        const HttpAnswer answer = fixture.dispatcher.answer(request);
        const auto* job = std::get_if<HttpJob>(&answer);
        return job != nullptr && job->lane != Lane::here;
    };
    for (const char* method :
         {"submitblock", "submitheader", "invalidateblock", "reconsiderblock", "preciousblock",
          "generatetoaddress", "generatetodescriptor", "generateblock"}) {
        CHECK(waits(method));
    }
    for (const char* method :
         {"getblock", "getblockheader", "getblockhash", "getblockcount", "getbestblockhash", "getchaintips",
          "getblockchaininfo", "getzmqnotifications", "getblockpubinfo", "help", "uptime", "echo"}) {
        CHECK_FALSE(waits(method));
    }
}

TEST_CASE("the chain's reads answer while the chain lock is held") {
    RpcFixture fixture;
    const std::string genesis = chain_params(ChainKind::regtest).genesis_hash.display_hex();
    MutexLock held(fixture.node.chain().chain_lock());
    CHECK(fixture.call("getblockcount") == RpcFixture::result("0"));
    CHECK(fixture.call("getbestblockhash") == RpcFixture::result("\"" + genesis + "\""));
    CHECK(fixture.call("getblockhash", "[0]") == RpcFixture::result("\"" + genesis + "\""));
    CHECK(fixture.call("getblock", "[\"" + genesis + "\",0]").find("\"error\":null") != std::string::npos);
    for (const char* method :
         {"getchaintips", "getblockchaininfo", "getblockpubinfo", "getzmqnotifications", "uptime", "help"}) {
        CAPTURE(method);
        CHECK(fixture.call(method).find("\"error\":null") != std::string::npos);
    }
    CHECK(fixture.call("getblockheader", in_list(genesis)).find("\"error\":null") != std::string::npos);
}

TEST_SUITE_END();
