// SPDX-License-Identifier: MIT
// Pruning as REST, JSON-RPC and the rawblock notifier show it, and their races with it.
#include "query/rest_service.hpp"
#include "support/gated_store.hpp"
#include "unit/notify/notify_fixture.hpp"
#include "unit/query/rpc_fixture.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <atomic>
#include <deque>
#include <string>
#include <thread>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE_BEGIN("query.pruning");

namespace {

constexpr char kPruned[] = "Block not available (pruned data)";
constexpr std::size_t kBlockBytes = 800'000;  // some twenty to a segment
constexpr std::uint32_t kBlocks = 62;

PruneOptions manual_pruning() {
    return {.mode = PruneOptions::Mode::manual, .after_height = 10, .keep_blocks = 5};
}

BuiltBlock large_child(const BuiltBlock& parent) {
    BlockSpec spec = child_spec(parent);
    spec.coinbase_amount = kCoin;
    TransactionSpec coinbase = detail::make_coinbase(spec);
    Script data{0x6a};
    data.resize(kBlockBytes, static_cast<std::uint8_t>(spec.height.value));
    coinbase.outputs.push_back({.amount = 0, .script = std::move(data)});
    spec.coinbase = std::move(coinbase);
    return build_block(spec);
}

/// A chain of large blocks, most of which can be pruned; every method and REST path over it.
struct PruningFixture : RpcFixture {
    PruningFixture() : RpcFixture(manual_pruning()) {}
    void grow() {
        for (std::uint32_t i = 0; i < kBlocks; ++i) {
            chain.push_back(large_child(chain.empty() ? regtest_genesis() : chain.back()));
            CHECK(node.submit(chain.back()).empty());
        }
    }
    [[nodiscard]] std::uint32_t prune(std::int64_t height = kBlocks) {
        const auto pruned = must(node.chain().prune_blocks(height));
        REQUIRE(pruned.has_value());
        return pruned->value;
    }
    [[nodiscard]] const BuiltBlock& at(std::uint32_t height) const { return chain[height - 1]; }
    std::vector<BuiltBlock> chain;
};

/// A server of its own over the store of another fixture, which its reads reach through a gate; with that
/// fixture's cache, or with none.
struct GatedServer {
    GatedServer(PruningFixture& fixture, unsigned nth, BlockCache* shared_cache = nullptr)
        : store(fixture.node.store(), nth),
          blocks(store.block_reader(), shared_cache == nullptr ? no_cache : *shared_cache),
          material(store, blocks),
          context(fixture.context) {
        context.store = &store;
        context.blocks = &blocks;
        context.stored_blocks = &store.block_reader();
        context.material = &material;
        std::vector<RpcMethod> methods;
        add_block_methods(methods, context);
        add_block_stats_methods(methods, context);
        add_proof_methods(methods, context);
        add_raw_transaction_methods(methods, context);
        dispatcher.set_ready(std::make_unique<const RpcMethods>(std::move(methods)));
    }
    [[nodiscard]] HttpResponse call(const std::string& method, const std::string& parameters) {
        HttpRequest request;
        request.body =
            fmt::format(R"({{"jsonrpc":"1.0","id":1,"method":"{}","params":{}}})", method, parameters);
        return finish(dispatcher.answer(request));
    }
    [[nodiscard]] HttpResponse get(const std::string& target) {
        HttpRequest request;
        request.head_text = "GET /rest/" + target + " HTTP/1.1\r\n\r\n";
        REQUIRE(parse_http_head(request.head_text, request.head));
        if (auto refusal = rest.admit(request)) return std::move(refusal->response);
        return finish(rest.answer(request));
    }
    static HttpResponse finish(HttpAnswer answer) {
        auto* const done = std::get_if<HttpResponse>(&answer);
        return done != nullptr ? std::move(*done) : std::get<HttpJob>(answer).run();
    }

    GatedStore store;
    BlockCache no_cache{BlockCache::Options{}};
    CachedReader blocks;
    BlockMaterialReader material;
    RpcContext context;
    NullLogger logger;
    RpcDispatcher dispatcher{logger};
    RestService rest{dispatcher, context, OriginPolicy({}, {})};
};

/// One request that is caught between a look-up and its `nth` read of the store, and what it must end with.
struct RaceCase {
    const char* target;      ///< a method, or a REST path with %s for the block
    const char* parameters;  ///< of a method, likewise; null for REST
    unsigned nth;
    int status;
    std::string text;  ///< the whole body, with %s for the block's hash
};

std::string with_hash(std::string text, const std::string& hash) {
    for (std::size_t at = 0; (at = text.find("%s", at)) != std::string::npos;) text.replace(at, 2, hash);
    return text;
}

std::vector<RaceCase> race_cases() {
    const std::string pruned = RpcFixture::error(-1, kPruned);
    const std::string undo = RpcFixture::error(-32603, kUndoUnreadable);
    const std::string gone = "%s not available (pruned data)\r\n";
    return {
        {"getblock", R"(["%s",0])", 0, 500, pruned},
        {"getblock", R"(["%s",1])", 0, 500, pruned},
        {"getblock", R"(["%s",2])", 0, 500, pruned},
        {"getblock", R"(["%s",2])", 1, 500, pruned},
        {"getblock", R"(["%s",3])", 2, 500, undo},
        {"getblockstats", R"(["%s"])", 0, 500, pruned},
        {"block/%s.bin", nullptr, 0, 404, gone},
        {"block/%s.hex", nullptr, 0, 404, gone},
        {"block/%s.json", nullptr, 0, 404, gone},
        {"block/%s.json", nullptr, 2, 404, gone},
        {"block/notxdetails/%s.json", nullptr, 0, 404, gone},
        {"blockpart/%s.bin?offset=0&size=80", nullptr, 0, 404, gone},
        {"spenttxouts/%s.bin", nullptr, 0, 404, "%s undo not available\r\n"},
    };
}

}  // namespace

TEST_CASE("a pruned block is answered in Core's words everywhere") {
    PruningFixture fixture;
    fixture.grow();
    GatedServer server(fixture, 0, &fixture.node.cache());
    server.store.open();
    const std::string hash = fixture.at(3).hash.display_hex();
    const std::string txid = must(ParsedBlock::parse(fixture.at(3).raw)).transactions()[0].txid.display_hex();
    // Read before, and so in all the caches that there are.
    CHECK(server.get("block/" + hash + ".bin").status == 200);
    CHECK(server.call("getblock", "[\"" + hash + "\",1]").status == 200);
    const std::uint32_t border = fixture.prune(30);
    REQUIRE(border > 3);
    for (const RaceCase& c : race_cases()) {
        CAPTURE(c.target);
        const bool rest = c.parameters == nullptr;
        const HttpResponse response = rest ? server.get(with_hash(c.target, hash))
                                           : server.call(c.target, with_hash(c.parameters, hash));
        CHECK(response.status == c.status);
        // Nothing is half there: undo data is not looked for.
        const bool undo = c.text.find("Undo") != std::string::npos;
        CHECK(body_of(response) == (undo ? RpcFixture::error(-1, kPruned) : with_hash(c.text, hash)));
    }
    CHECK(fixture.call("gettxoutproof", fmt::format(R"([["{}"],"{}"])", txid, hash)) ==
          RpcFixture::error(-1, kPruned));
    CHECK(fixture.call("getrawtransaction", fmt::format(R"(["{}",0,"{}"])", txid, hash)) ==
          RpcFixture::error(-1, "Block not available"));
    CHECK(fixture.call("getblockhash", "[3]") == RpcFixture::result('"' + hash + '"'));
    CHECK(fixture.call("getblockheader", "[\"" + hash + "\",false]").size() > 160);
    CHECK(fixture.call("verifychain", "[4,0]") == RpcFixture::result("true"));
    const std::string kept = fixture.at(border + 1).hash.display_hex();
    CHECK(server.get("block/" + kept + ".bin").status == 200);
    CHECK(server.get("spenttxouts/" + kept + ".bin").status == 200);
}

TEST_CASE("pruneblockchain and what tells of it") {
    PruningFixture fixture;
    SUBCASE("a chain that is too short, and arguments that are wrong") {
        struct Case {
            const char* parameters;
            int code;
            const char* text;
        };
        static constexpr Case kCases[] = {
            {"[-1]", -8, "Negative block height."},
            {"[1]", -1, "Blockchain is too short for pruning."},
            {"[4294967296]", -1, "JSON integer out of range"},
            {"[2000000000]", -8, "Could not find block with at least the specified timestamp."},
        };
        for (const Case& c : kCases) {
            CAPTURE(c.parameters);
            CHECK(fixture.call("pruneblockchain", c.parameters) == RpcFixture::error(c.code, c.text));
        }
        fixture.context.prune.mode = PruneOptions::Mode::off;
        CHECK(fixture.call("pruneblockchain", "[1]") ==
              RpcFixture::error(-1, "Cannot prune blocks because node is not in prune mode."));
    }
    SUBCASE("the answer, and the members of getblockchaininfo and getnetworkinfo") {
        const auto info = [&] { return fixture.call("getblockchaininfo"); };
        const auto has = [](const std::string& text, const char* part) {
            return text.find(part) != std::string::npos;
        };
        fixture.grow();
        CHECK(has(info(), R"(,"pruned":true,"pruneheight":0,"automatic_pruning":false,"warnings":)"));
        CHECK(fixture.call("pruneblockchain", "[5]") == RpcFixture::result("-1"));
        CHECK(fixture.call("pruneblockchain", "[63]") ==
              RpcFixture::error(-8, "Blockchain is shorter than the attempted prune height."));
        const std::uint32_t border = fixture.prune();
        CHECK(fixture.call("pruneblockchain", "[62]") == RpcFixture::result(std::to_string(border)));
        const std::string members = fmt::format(R"(,"pruned":true,"pruneheight":{},)", border + 1);
        CHECK(has(info(), (members + R"("automatic_pruning":false,"warnings":)").c_str()));
        fixture.context.prune.mode = PruneOptions::Mode::automatic;
        fixture.context.prune.target_bytes = std::uint64_t{550} << 20;
        CHECK(
            has(info(),
                (members + R"("automatic_pruning":true,"prune_target_size":576716800,"warnings":)").c_str()));
        // Without -prune what is missing is still missing.
        fixture.context.prune.mode = PruneOptions::Mode::off;
        CHECK(has(info(), members.c_str()));
        const std::string network = fixture.call("getnetworkinfo");
        CHECK(has(network, R"("localservices":"0000000000000408")"));
        CHECK(has(network, R"("localservicesnames":["WITNESS","NETWORK_LIMITED"])"));
    }
}

TEST_CASE("a request that is overtaken by pruning ends in Core's words") {
    PruningFixture fixture;
    fixture.grow();
    const auto cases = race_cases();
    std::deque<GatedServer> servers;  // a gate for each
    std::vector<HttpResponse> responses(cases.size());
    std::vector<std::jthread> threads;
    for (const RaceCase& c : cases) servers.emplace_back(fixture, c.nth);
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const std::string hash = fixture.at(3).hash.display_hex();
        threads.emplace_back([&, i, hash] {
            const RaceCase& c = cases[i];
            responses[i] = c.parameters == nullptr ? servers[i].get(with_hash(c.target, hash))
                                                   : servers[i].call(c.target, with_hash(c.parameters, hash));
            servers[i].store.leave();
        });
    }
    for (std::size_t i = 0; i < cases.size(); ++i) {
        CAPTURE(cases[i].target);
        CAPTURE(cases[i].nth);
        CHECK(servers[i].store.wait_until_reached());
    }
    CHECK(fixture.prune(30) > 3);
    for (GatedServer& server : servers) server.store.open();
    threads.clear();
    for (std::size_t i = 0; i < cases.size(); ++i) {
        CAPTURE(cases[i].target);
        CAPTURE(cases[i].nth);
        CHECK(responses[i].status == cases[i].status);
        CHECK(body_of(responses[i]) == with_hash(cases[i].text, fixture.at(3).hash.display_hex()));
    }
}

TEST_CASE("an answer that has begun is sent whole, though its file is gone") {
    PruningFixture fixture;
    fixture.grow();
    GatedServer server(fixture, 0);
    server.store.open();
    const BuiltBlock& block = fixture.at(3);
    const std::string hash = block.hash.display_hex();
    const HttpResponse binary = server.get("block/" + hash + ".bin");
    const HttpResponse hex = server.get("block/" + hash + ".hex");
    const HttpResponse rpc = server.call("getblock", "[\"" + hash + "\",0]");
    CHECK(fixture.prune(30) > 3);
    CHECK(fixture.node.store().status().open_segments <= 2);
    CHECK(body_of(binary) == std::string(block.raw.bytes().begin(), block.raw.bytes().end()));
    CHECK(body_of(hex) == encode_hex(block.raw.bytes()) + "\n");
    CHECK(body_of(rpc) == RpcFixture::result('"' + encode_hex(block.raw.bytes()) + '"'));
}

TEST_CASE("a rawblock notifier that is overtaken leaves blocks out, says so, and goes on") {
    PruningFixture fixture;
    MemoryLogger logger;
    GatedStore store(fixture.node.store(), 0);
    auto bound = Publisher::bind(publisher_options("tcp://127.0.0.1:*", {"hashblock", "rawblock"}),
                                 fixture.node.bus(), store.block_reader(), logger);
    REQUIRE_MESSAGE(bound.has_value(), (bound ? "" : bound.error().context));
    Subscriber subscriber((*bound)->status().endpoint);
    std::uint64_t probe = 1;
    subscriber.join(fixture.node.bus(), probe);
    fixture.grow();
    CHECK(store.wait_until_reached());
    const std::uint32_t border = fixture.prune();
    store.open();

    const auto messages = subscriber.until_probe(fixture.node.bus(), probe);
    std::uint32_t hashes = 0;
    std::uint32_t height = border;
    for (const Message& message : messages) {
        if (message.topic == "hashblock") CHECK(message.counter == hashes++);
        if (message.topic != "rawblock") continue;
        // Each block that is left out takes a number.
        CHECK(message.counter == height++);
        REQUIRE(height <= kBlocks);
        CHECK(std::ranges::equal(message.body, fixture.at(height).raw.bytes()));
    }
    CHECK(hashes == kBlocks);
    CHECK(height == kBlocks);
    const PublisherStatus status = (*bound)->status();
    CHECK(status.blocks_given_up == border);
    CHECK(status.last_error.find(kPruned) != std::string::npos);
    CHECK_FALSE(status.failing);
}

TEST_CASE("readers of many kinds go on while blocks are pruned") {
    PruningFixture fixture;
    fixture.grow();
    std::atomic<bool> stop{false};
    std::atomic<unsigned> wrong{0};
    std::atomic<unsigned> answered{0};
    const auto is_good = [&](const HttpResponse& response, const std::string& hash) {
        if (response.status == 200) return true;
        const std::string body = body_of(response);
        for (const RaceCase& c : race_cases()) {
            if (response.status == c.status && body == with_hash(c.text, hash)) return true;
        }
        return false;
    };
    const auto read_all = [&](unsigned offset) {
        GatedServer server(fixture, 0);
        server.store.open();
        for (std::uint32_t i = offset; !stop; ++i) {
            const BuiltBlock& block = fixture.at(i * 7 % kBlocks + 1);
            const std::string hash = block.hash.display_hex();
            const HttpResponse raw = server.get("block/" + hash + ".bin");
            const bool right = raw.status != 200 || body_of(raw) == std::string(block.raw.bytes().begin(),
                                                                                block.raw.bytes().end());
            if (!right || !is_good(raw, hash)) ++wrong;
            if (!is_good(server.get("spenttxouts/" + hash + ".json"), hash)) ++wrong;
            for (int verbosity = 0; verbosity <= 3; ++verbosity) {
                if (!is_good(server.call("getblock", fmt::format("[\"{}\",{}]", hash, verbosity)), hash))
                    ++wrong;
            }
            if (!is_good(server.call("getblockstats", "[\"" + hash + "\"]"), hash)) ++wrong;
            ++answered;
        }
    };
    std::vector<std::jthread> readers;
    for (unsigned i = 0; i < 3; ++i) readers.emplace_back(read_all, i * 20);
    while (answered < 20) std::this_thread::yield();
    for (const std::int64_t height : {25, 62}) {
        static_cast<void>(fixture.prune(height));
        const unsigned before = answered;
        while (answered < before + 20) std::this_thread::yield();
    }
    stop = true;
    readers.clear();
    CHECK(wrong == 0);
}

TEST_SUITE_END();
