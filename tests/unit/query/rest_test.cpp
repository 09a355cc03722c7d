// SPDX-License-Identifier: MIT
#include "base/hex.hpp"
#include "query/rest_service.hpp"
#include "unit/query/rpc_fixture.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <span>
#include <string>
#include <variant>

using namespace blockpub;
using namespace blockpub::test;

namespace {

struct RestFixture : RpcFixture {
    HttpResponse get(const std::string& target, const std::string& fields = "",
                     const std::string& method = "GET", std::string body = "") {
        HttpRequest request;
        request.head_text = method + " /rest/" + target + " HTTP/1.1\r\n" + fields + "\r\n";
        REQUIRE(parse_http_head(request.head_text, request.head));
        request.body = std::move(body);
        if (auto refusal = rest.admit(request)) return std::move(refusal->response);
        HttpAnswer answer = rest.answer(request);
        auto* done = std::get_if<HttpResponse>(&answer);
        HttpResponse response = done != nullptr ? std::move(*done) : std::get<HttpJob>(answer).run();
        response.text = body_of(response);
        response.pieces.clear();
        return response;
    }

    const OriginPolicy policy{{}, {}};
    RestService rest{dispatcher, context, policy};
};

std::string text_of(ByteSpan bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct Case {
    const char* target;
    int status;
    const char* text;
};

void check_all(RestFixture& fixture, std::span<const Case> cases) {
    for (const Case& c : cases) {
        CAPTURE(c.target);
        const HttpResponse response = fixture.get(c.target);
        CHECK(response.status == c.status);
        CHECK(response.content_type == "text/plain");
        CHECK(response.text == std::string(c.text) + "\r\n");
    }
}

#define HASH64 "00000000000000000000000000000000000000000000000000000000000000aa"

}  // namespace

TEST_SUITE_BEGIN("query.rest");

TEST_CASE("a block is its bytes, its digits, or a part of them") {
    RestFixture fixture;
    const BuiltBlock block = child_of(regtest_genesis(), 1);
    must(fixture.node.chain().submit_block(block.raw));
    const std::string name = block.hash.display_hex();
    const std::string bytes = text_of(block.raw.bytes());
    for (const std::string path : {"block/", "block/notxdetails/"}) {
        const HttpResponse binary = fixture.get(path + name + ".bin");
        CHECK(binary.status == 200);
        CHECK(binary.content_type == "application/octet-stream");
        CHECK(binary.text == bytes);
        CHECK(binary.fields.starts_with("ETag: \"" + name + "\"\r\nCache-Control: public"));
        const HttpResponse hex = fixture.get(path + name + ".hex");
        CHECK(hex.content_type == "text/plain");
        CHECK(hex.text == encode_hex(block.raw.bytes()) + "\n");
    }
    const HttpResponse part = fixture.get("blockpart/" + name + ".bin?offset=4&size=32");
    CHECK(part.status == 200);
    CHECK(part.text == bytes.substr(4, 32));
    CHECK(fixture.get("blockpart/" + name + ".hex?size=4&offset=0").text ==
          encode_hex(block.raw.bytes().first(4)) + "\n");
    const HttpResponse range = fixture.get("block/" + name + ".bin", "Range: bytes=4-35\r\n");
    CHECK(range.status == 206);
    CHECK(range.text == bytes.substr(4, 32));
    CHECK(fixture.get("block/" + name + ".hex", "Range: bytes=4-35\r\n").status == 200);
    CHECK(fixture.get("block/" + name + ".bin", "If-None-Match: \"" + name + "\"\r\n").status == 304);
}

TEST_CASE("wrong parts of a block are told as release 31 tells them") {
    RestFixture fixture;
    const std::string name = regtest_genesis().hash.display_hex();
    const auto path = [&](const std::string& rest) { return "blockpart/" + name + rest; };
    const auto bad = [&](const char* numbers) {
        return fmt::format("Bad block part offset/size {} for {}\r\n", numbers, name);
    };
    struct Part {
        std::string target;
        int status;
        std::string text;
    };
    const Part kCases[] = {
        {path(".bin"), 400, "Block part offset missing or invalid\r\n"},
        {path(".bin?offset=-1&size=1"), 400, "Block part offset missing or invalid\r\n"},
        {path(".bin?offset=1"), 400, "Block part size missing or invalid\r\n"},
        {path(".bin?offset=1&size=x"), 400, "Block part size missing or invalid\r\n"},
        {path(".bin?offset=0&size=0"), 400, bad("0/0")},
        {path(".bin?offset=0&size=286"), 400, bad("0/286")},
        {path(".bin?offset=285&size=1"), 400, bad("285/1")},
        {path(".bin?offset=1&size=18446744073709551615"), 400, bad("1/18446744073709551615")},
        {path(".bin?offset=18446744073709551615&size=1"), 400, bad("18446744073709551615/1")},
        {path(".json?offset=0&size=1"), 400, "JSON output is not supported for this request type\r\n"},
        {path("?offset=0&size=1"), 404, "output format not found (available: .bin, .hex, .json)\r\n"},
        {"blockpart/" HASH64 ".bin?offset=0&size=1", 404, HASH64 " not found\r\n"},
        {"blockpart/zz.bin?offset=0&size=1", 400, "Invalid hash: zz\r\n"},
        {path(".bin?offset=0&size=1&%"), 400,
         "URI parsing failed, it likely contained RFC 3986 invalid characters\r\n"},
    };
    for (const Part& c : kCases) {
        CAPTURE(c.target);
        const HttpResponse response = fixture.get(c.target);
        CHECK(response.status == c.status);
        CHECK(response.text == c.text);
    }
    CHECK(fixture.get(path(".bin?offset=0&size=285")).text.size() == 285);
    CHECK(fixture.get(path(".bin?offset=284&size=1")).text.size() == 1);
}

TEST_CASE("a block that is not here is told apart from one that is unknown") {
    RestFixture fixture;
    const BuiltBlock block = child_of(regtest_genesis(), 1);
    must(fixture.node.chain().submit_header(block.raw.bytes().first(80)));
    const std::string name = block.hash.display_hex();
    for (const char* suffix : {".bin", ".hex", ".json", ""}) {
        CAPTURE(suffix);
        const HttpResponse response = fixture.get("block/" + name + suffix);
        CHECK(response.status == 404);
        CHECK(response.text == name + " not available (not fully downloaded)\r\n");
    }
    fixture.reader.failure = Error{Errc::unavailable, "Block not available (pruned data)"};
    for (const char* suffix : {".bin", ".hex"}) {
        const HttpResponse response = fixture.get("block/" + regtest_genesis().hash.display_hex() + suffix);
        CHECK(response.status == 404);
        CHECK(response.text == regtest_genesis().hash.display_hex() + " not available (pruned data)\r\n");
    }
    fixture.reader.failure = Error{Errc::io, "a disk's own words"};
    const HttpResponse response = fixture.get("block/" + regtest_genesis().hash.display_hex() + ".bin");
    CHECK(response.status == 500);
    CHECK(response.text == "Internal error\r\n");
}

TEST_CASE("spent outputs are listed by transaction, the coinbase's list empty") {
    RestFixture fixture;
    const std::string genesis = "spenttxouts/" + regtest_genesis().hash.display_hex();
    CHECK(fixture.get(genesis + ".bin").text == std::string("\1\0", 2));
    CHECK(fixture.get(genesis + ".hex").text == "0100\n");
    CHECK(fixture.get(genesis + ".json").text == "[[]]\n");
    CHECK(fixture.get(genesis + ".json").content_type == "application/json");
    CHECK(fixture.get(genesis).status == 404);
    const BuiltBlock block = child_of(regtest_genesis(), 1);
    must(fixture.node.chain().submit_header(block.raw.bytes().first(80)));
    CHECK(fixture.get("spenttxouts/" + block.hash.display_hex() + ".json").status == 404);
    CHECK(fixture.get("spenttxouts/" + block.hash.display_hex() + ".json").text ==
          block.hash.display_hex() + " undo not available\r\n");
    static constexpr Case kCases[] = {
        {"spenttxouts/zz.json", 400, "Invalid hash: zz"},
        {"spenttxouts/a/b.json", 400, "Invalid URI format. Expected /rest/spenttxouts/<hash>.<ext>"},
        {"spenttxouts/" HASH64 ".json", 404, HASH64 " not found"},
    };
    check_all(fixture, kCases);
}

TEST_CASE("errors have bitcoind's words") {
    RestFixture fixture;
    static constexpr Case kCases[] = {
        {"headers/1/2/3.json", 400, "Invalid URI format. Expected /rest/headers/<hash>.<ext>?count=<count>"},
        {"headers/0/" HASH64 ".bin", 400, "Header count is invalid or out of acceptable range (1-2000): 0"},
        {"headers/" HASH64 ".bin?count=2001", 400,
         "Header count is invalid or out of acceptable range (1-2000): 2001"},
        {"headers/zz.bin", 400, "Invalid hash: zz"},
        {"headers/" HASH64, 404, "output format not found (available: .bin, .hex, .json)"},
        {"tx/zz.json", 400, "Invalid hash: zz"},
        {"tx/" HASH64 ".json", 404, HASH64 " not found"},
        {"blockhashbyheight/.bin", 400, "Invalid height: "},
        {"blockhashbyheight/<1>.bin", 400, "Invalid height: 1"},
        {"blockhashbyheight/+-1.bin", 400, "Invalid height: -1"},
        {"blockhashbyheight/2147483648.bin", 400, "Invalid height: 2147483648"},
        {"blockhashbyheight/2147483647.bin", 404, "Block height out of range"},
        {"blockhashbyheight/0", 404, "output format not found (available: .bin, .hex, .json)"},
        {"chaininfo", 404, "output format not found (available: json)"},
        {"chaininfo.hex", 404, "output format not found (available: json)"},
        {"deploymentinfo.bin", 404, "output format not found (available: json)"},
        {"deploymentinfo/zz.json", 400, "Invalid hash: zz"},
        {"deploymentinfo/" HASH64 ".json", 400, "Block not found"},
        {"mempool/other.json", 400, "Invalid URI format. Expected /rest/mempool/<info|contents>.json"},
        {"mempool/info.bin", 404, "output format not found (available: json)"},
        {"mempool/contents.json?verbose=1", 400,
         "The \"verbose\" query parameter must be either \"true\" or \"false\"."},
        {"mempool/contents.json?mempool_sequence=", 400,
         "The \"mempool_sequence\" query parameter must be either \"true\" or \"false\"."},
        {"mempool/contents.json?mempool_sequence=true", 400,
         "Verbose results cannot contain mempool sequence values. (hint: set \"verbose=false\")"},
        {"blockfilter/basic.json", 400,
         "Invalid URI format. Expected /rest/blockfilter/<filtertype>/<blockhash>"},
        {"blockfilter/basic/zz.json", 400, "Invalid hash: zz"},
        {"blockfilter/other/" HASH64 ".json", 400, "Unknown filtertype other"},
        {"blockfilter/basic/" HASH64 ".json", 400, "Index is not enabled for filtertype basic"},
        {"blockfilterheaders/basic.bin", 400,
         "Invalid URI format. Expected "
         "/rest/blockfilterheaders/<filtertype>/<blockhash>.<ext>?count=<count>"},
        {"blockfilterheaders/basic/" HASH64 ".bin?count=0", 400,
         "Header count is invalid or out of acceptable range (1-2000): 0"},
        {"blockfilterheaders/basic/5/" HASH64 ".bin", 400, "Index is not enabled for filtertype basic"},
        {"getutxos", 400, "Error: empty request"},
        {"getutxos/checkmempool.json", 400, "Error: empty request"},
        {"getutxos/" HASH64 ".json", 400, "Parse error"},
        {"getutxos/" HASH64 "-1-2.json", 400, "Parse error"},
        {"getutxos/" HASH64 "-4294967296.json", 400, "Parse error"},
        {"getutxos/" HASH64 "-0", 404, "output format not found (available: .bin, .hex, .json)"},
    };
    check_all(fixture, kCases);
    const HttpResponse unknown = fixture.get("nosuch");
    CHECK(unknown.status == 404);
    CHECK(unknown.text.empty());
    CHECK(unknown.content_type.empty());
}

TEST_CASE("a coin that a block takes out of the mempool meanwhile is found") {
    RestFixture fixture;
    const BuiltBlock block = child_of(regtest_genesis(), 1);
    /// Has a coin until it is asked for it: then the block comes.
    struct ConfirmingPool final : MempoolCoinView {
        ConfirmingPool(RegtestChain& to, const BuiltBlock& with) : node(to), coming(with) {}
        [[nodiscard]] MempoolCoin look_up(const Outpoint&) const override {
            must(node.chain().submit_block(coming.raw));
            return {};
        }
        RegtestChain& node;
        const BuiltBlock& coming;
    };
    const ConfirmingPool pool(fixture.node, block);
    fixture.context.mempool_coins = &pool;
    const std::string txid = must(ParsedBlock::parse(block.raw)).transactions()[0].txid.display_hex();
    const HttpResponse response = fixture.get("getutxos/checkmempool/" + txid + "-0.json");
    CHECK(response.status == 200);
    CHECK_MESSAGE(response.text.find(R"("bitmap":"1")") != std::string::npos, response.text);
    CHECK_MESSAGE(response.text.starts_with(R"({"chainHeight":1,)"), response.text);
}

TEST_CASE("what takes memory waits for room, whatever its form") {
    RestFixture fixture;
    const std::string genesis = regtest_genesis().hash.display_hex();
    const auto room = [&](const std::string& target) -> std::size_t {
        HttpRequest request;
        request.head_text = "GET /rest/" + target + " HTTP/1.1\r\n\r\n";
        REQUIRE(parse_http_head(request.head_text, request.head));
        HttpAnswer answer = fixture.rest.answer(request);
        const auto* job = std::get_if<HttpJob>(&answer);
        return job == nullptr ? 0 : job->reply_bytes;
    };
    CHECK(room("chaininfo.json") == 0);
    CHECK(room("block/" + genesis + ".bin") == 0);
    CHECK(room("block/" + genesis + ".hex") == kHexMemory);
    for (const char* suffix : {".bin", ".hex", ".json"})
        CHECK(room("spenttxouts/" + genesis + suffix) == kLargeReply);
}

TEST_CASE("headers follow the active chain, and an unknown or stale hash has none") {
    RestFixture fixture;
    BuiltBlock tip = regtest_genesis();
    std::string headers = text_of(tip.raw.bytes().first(80));
    for (std::uint64_t salt = 1; salt <= 3; ++salt) {
        tip = child_of(tip, salt);
        must(fixture.node.chain().submit_block(tip.raw));
        headers += text_of(tip.raw.bytes().first(80));
    }
    const std::string first = regtest_genesis().hash.display_hex();
    CHECK(fixture.get("headers/" + first + ".bin").text == headers);
    CHECK(fixture.get("headers/2/" + first + ".bin").text == headers.substr(0, 160));
    CHECK(fixture.get("headers/" + first + ".bin?count=2").text == headers.substr(0, 160));
    CHECK(fixture.get("headers/2000/" + tip.hash.display_hex() + ".bin").text == headers.substr(240));
    CHECK(fixture.get("headers/" HASH64 ".bin").text.empty());
    CHECK(fixture.get("headers/" HASH64 ".json").text == "[]\n");
    const BuiltBlock stale = child_of(regtest_genesis(), 77);
    must(fixture.node.chain().submit_block(stale.raw));
    CHECK(fixture.get("headers/" + stale.hash.display_hex() + ".hex").text == "\n");
    CHECK(fixture.get("headers/" + stale.hash.display_hex() + ".bin").entity_tag.empty());
    CHECK(fixture.get("blockhashbyheight/+3.hex").text == tip.hash.display_hex() + "\n");
    CHECK(fixture.get("block/" + stale.hash.display_hex() + ".bin").text == text_of(stale.raw.bytes()));
}

TEST_CASE("what is asked of another host or by a foreign page gets nothing") {
    RestFixture fixture;
    for (const char* fields : {"Host: evil.example\r\n", "Host: x\r\nOrigin: https://evil.example\r\n"}) {
        const HttpResponse response = fixture.get("chaininfo.json", fields);
        CHECK(response.status == 403);
        CHECK(response.text == "Forbidden: unknown host or foreign origin\r\n");
    }
    CHECK(fixture.get("chaininfo.json", "Host: localhost:8372\r\n").status == 200);
}

TEST_CASE("the examples of docs/rest.md are what a fresh daemon answers") {
    std::ifstream file(std::string(BLOCKPUB_SOURCE_ROOT) + "/docs/rest.md");
    REQUIRE(file);
    RestFixture fixture;
    int examples = 0;
    for (std::string line; std::getline(file, line);) {
        const std::string mark = "```rest ";
        if (!line.starts_with(mark)) continue;
        const std::string target = line.substr(mark.size());
        CAPTURE(target);
        REQUIRE(std::getline(file, line));
        const HttpResponse response = fixture.get(target);
        CHECK(response.status == 200);
        CHECK(encode_hex({reinterpret_cast<const std::uint8_t*>(response.text.data()),
                          response.text.size()}) == line);
        ++examples;
    }
    CHECK(examples == 4);
}

TEST_CASE("before there is a chain every path says when to come again") {
    NullLogger logger;
    RpcDispatcher dispatcher(logger);
    dispatcher.set_warmup("Loading block index…");
    const RpcContext context;
    const OriginPolicy policy({}, {});
    RestService rest(dispatcher, context, policy);
    HttpRequest request;
    request.head_text = "GET /rest/block/zz.bin HTTP/1.1\r\n\r\n";
    REQUIRE(parse_http_head(request.head_text, request.head));
    const HttpResponse response = std::get<HttpResponse>(rest.answer(request));
    CHECK(response.status == 503);
    CHECK(response.text == "Service temporarily unavailable: Loading block index…\r\n");
    CHECK(response.fields == "Retry-After: 1\r\n");
}

TEST_SUITE_END();
