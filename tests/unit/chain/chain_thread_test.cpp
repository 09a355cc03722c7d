// SPDX-License-Identifier: MIT
#include "chain/chain.hpp"
#include "event_script.hpp"
#include "support/regtest_chain.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE_BEGIN("chain.chain_thread");

TEST_CASE("with the chain lock held every read path answers") {
    RegtestChain node;
    const auto a = build_branch(regtest_genesis(), 3);
    node.submit_all(a);
    const MutexLock held(node.chain().chain_lock());
    const auto snapshot = must(node.store().snapshot());
    CHECK(must(snapshot.tip()).hash == a[2].hash);
    CHECK(must(snapshot.active({2})) == a[1].hash);
    CHECK(must(snapshot.header(a[0].hash)).height.value == 1);
    CHECK(must(node.store().block_reader().read_block(a[0].hash)).size() == a[0].raw.size());
    CHECK(node.log().size() == 4);
    CHECK(node.released().size() == 8);
    CHECK(node.chain().status().tip.hash == a[2].hash);
    CHECK(node.chain().import_counters().accepted == 0);
}

TEST_CASE("what is released is durable and readable at that moment") {
    RegtestChain node;
    static_cast<void>(node.released());
    const auto a = build_branch(regtest_genesis(), 30, 1);
    const auto b = build_branch(a[20], 12, 2);
    /// Checks on the subscription's own thread, while the chain goes on.
    struct Checker final : EventHandler {
        explicit Checker(Store& s) : store(s) {}
        void on_event(const Event& event) override {
            if (const auto* connected = std::get_if<BlockConnected>(&event)) {
                check_record(connected->index, connected->hash, BlockEventKind::connected);
                if (!store.block_reader().read_block(connected->hash)) ++failures;
            } else if (const auto* disconnected = std::get_if<BlockDisconnected>(&event)) {
                check_record(disconnected->index, disconnected->hash, BlockEventKind::disconnected);
            }
        }
        void check_record(EventIndex index, const BlockHash& hash, BlockEventKind kind) {
            const auto records = store.read_events(index, 1);
            const bool durable = records && records->size() == 1 && records->front().hash == hash &&
                                 records->front().kind == kind;
            if (!durable || index != next) ++failures;
            next = index + 1;
        }
        Store& store;
        std::atomic<unsigned> failures{0};
        std::atomic<EventIndex> next{1};
    } checker(node.store());
    const Subscription subscription = node.bus().subscribe("checker", checker);
    node.submit_all(a);
    node.submit_all(b);
    must(node.chain().invalidate_block(b[5].hash));
    must(node.chain().reconsider_block(b[5].hash));
    static_cast<void>(node.released());
    CHECK(node.bus().wait_until_drained(60'000));
    CHECK(checker.failures == 0);
    CHECK(checker.next == node.log().size());
}

TEST_CASE("callers on many threads get one answer each") {
    RegtestChain node;
    const auto a = build_branch(regtest_genesis(), 20);
    std::atomic<unsigned> fresh{0};
    std::atomic<unsigned> other{0};
    std::vector<std::thread> submitters;
    for (int i = 0; i < 4; ++i) {
        submitters.emplace_back([&] {
            for (const BuiltBlock& block : a) {
                const std::string answer = node.submit(block);
                if (answer.empty()) {
                    ++fresh;
                } else if (answer == "duplicate") {
                    ++other;
                }
            }
        });
    }
    for (std::thread& submitter : submitters) submitter.join();
    CHECK(fresh == 20);
    CHECK(other == 60);
    CHECK(node.log().size() == 21);
}

TEST_CASE("submitted headers are answered with Core's words") {
    RegtestChain node;
    const auto a = build_branch(regtest_genesis(), 3);
    const auto header_of = [](const BuiltBlock& block) {
        return block.raw.bytes().first(BlockHeader::kSize);
    };
    const auto early = node.chain().submit_header(header_of(a[1]));
    REQUIRE_FALSE(early);
    CHECK(early.error().code == Errc::invalid_argument);
    CHECK(early.error().context == "Must submit previous header (" + a[0].hash.display_hex() + ") first");
    must(node.chain().submit_header(header_of(a[0])));
    must(node.chain().submit_header(header_of(a[0])));
    must(node.chain().submit_header(header_of(a[1])));
    CHECK(node.chain().status().best_header.hash == a[1].hash);
    CHECK(node.tip() == regtest_genesis().hash);
    CHECK(must(must(node.store().snapshot()).tips()) == std::vector{a[1].hash});
    BlockSpec spec = child_spec(a[1]);
    spec.version = 1;
    CHECK(node.chain().submit_header(header_of(build_block(spec))).error().context ==
          "bad-version(0x00000001)");
    spec = child_spec(a[1]);
    spec.valid_proof_of_work = false;
    CHECK(node.chain().submit_header(header_of(build_block(spec))).error().context == "high-hash");
    CHECK(node.chain().submit_header(ByteSpan{}).error().context == "Block header decode failed");
    must(node.chain().invalidate_block(a[0].hash));
    CHECK(node.chain().submit_header(header_of(a[0])).error().context == "duplicate");
    CHECK(node.chain().submit_header(header_of(a[2])).error().context == "bad-prevblk");
    must(node.chain().reconsider_block(a[0].hash));
    // Blocks of known headers, the child's first.
    CHECK(node.submit(a[1]) == "inconclusive");
    CHECK(node.submit(a[0]).empty());
    CHECK(node.tip() == a[1].hash);
}

TEST_CASE("a submitted block gets the answer of its kind") {
    RegtestChain node;
    const auto a = build_branch(regtest_genesis(), 3, 1);
    const auto side = build_branch(regtest_genesis(), 1, 2);
    CHECK(node.submit(a[1]) == "prev-blk-not-found");
    CHECK(node.submit(a[0]) == "");
    CHECK(node.submit(a[0]) == "duplicate");
    CHECK(node.submit(side[0]) == "inconclusive");
    CHECK(node.submit(side[0]) == "duplicate");
    CHECK(node.submit(regtest_genesis()) == "duplicate");
    node.submit_all({a[1], a[2]});
    must(node.chain().invalidate_block(a[1].hash));
    CHECK(node.submit(a[2]) == "duplicate-invalid");
    CHECK(node.submit(child_of(a[2])) == "bad-prevblk");
    BlockSpec spec = child_spec(a[0], 7);
    spec.coinbase = build_block(spec).coinbase;
    spec.coinbase->inputs[0].script[0] = 0x59;
    const BuiltBlock invalid = build_block(spec);
    CHECK(node.submit(invalid) == "bad-cb-height");
    CHECK(node.submit(invalid) == "duplicate-invalid");
    CHECK((node.header(invalid.hash).status & HeaderRecord::kFailed) != 0);
    node.restart();
    CHECK(node.submit(invalid) == "duplicate-invalid");
    // What fails before its header is looked at leaves no trace.
    spec = child_spec(a[0], 8);
    spec.transactions = {spend({.txid = Txid(sha256d(Bytes{1})), .position = 0}, -1)};
    const BuiltBlock context_free = build_block(spec);
    CHECK(node.submit(context_free) == "bad-txns-vout-negative");
    CHECK(node.submit(context_free) == "bad-txns-vout-negative");
    CHECK(must(node.store().snapshot()).header(context_free.hash).error().code == Errc::not_found);
    CHECK(node.chain().submit_block(SharedBytes::copy_of(Bytes(80, 0))).error().context ==
          "Block decode failed");
}

TEST_CASE("a coinbase that leaves out its witness is completed, and the completed block is stored") {
    RegtestChain node;
    BlockSpec spec = child_spec(regtest_genesis());
    const BuiltBlock whole = build_block(spec);
    spec.coinbase = whole.coinbase;
    spec.coinbase->inputs[0].witness.clear();
    CHECK(node.submit(build_block(spec)).empty());
    const SharedBytes stored = must(node.store().block_reader().read_block(whole.hash));
    CHECK(std::ranges::equal(stored.bytes(), whole.raw.bytes()));
}

TEST_CASE("a block under test must extend the tip and keep every rule but proof of work, and is not stored") {
    RegtestChain node;
    const auto a = build_branch(regtest_genesis(), 2);
    node.submit_all(a);
    const auto test = [&](const BlockSpec& spec) {
        return must(node.chain().test_block(build_block(spec).raw));
    };
    BlockSpec spec = child_spec(a[1]);
    spec.valid_proof_of_work = false;
    CHECK(test(spec) == "");
    CHECK(must(node.store().snapshot()).header(build_block(spec).hash).error().code == Errc::not_found);
    spec.version = 1;
    CHECK(test(spec) == "bad-version(0x00000001), rejected nVersion=0x00000001 block");
    spec = child_spec(a[1]);
    spec.time = 0;
    CHECK(test(spec) == "time-too-old, block's timestamp is too early");
    spec = child_spec(a[1]);
    spec.height = {7};
    CHECK(test(spec) == "bad-cb-height, block height mismatch in coinbase");
    spec = child_spec(a[1]);
    spec.transactions = {spend({.txid = Txid(sha256d(Bytes{1})), .position = 0}, -1)};
    CHECK(test(spec).starts_with("bad-txns-vout-negative, Transaction check failed (tx hash "));
    CHECK(test(child_spec(a[0])) == "inconclusive-not-best-prevblk");
    CHECK(node.tip() == a[1].hash);
}

TEST_CASE("leaves of the header tree are kept exact, also over restarts") {
    RegtestChain node;
    const auto sorted = [](std::vector<BlockHash> hashes) {
        std::ranges::sort(hashes);
        return hashes;
    };
    const auto tips = [&] { return must(must(node.store().snapshot()).tips()); };
    const auto a = build_branch(regtest_genesis(), 3, 1);
    const auto b = build_branch(a[0], 2, 2);
    CHECK(tips() == std::vector{regtest_genesis().hash});
    node.submit_all({a[0], a[1]});
    CHECK(tips() == std::vector{a[1].hash});
    node.submit_all({b[0]});
    CHECK(tips() == sorted({a[1].hash, b[0].hash}));
    node.restart();
    node.submit_all({b[1], a[2]});
    CHECK(tips() == sorted({a[2].hash, b[1].hash}));
    must(node.chain().invalidate_block(a[0].hash));
    CHECK(tips() == sorted({a[2].hash, b[1].hash}));
}

TEST_CASE("a store of another chain is refused") {
    RegtestChain node;
    node.stop();
    StoreOptions options = node.store_options();
    const auto store = must(Store::open(options));
    Bus bus(BusOptions{.log = store.get(), .next_index = 1});
    Clock clock;
    ChainOptions chain;
    chain.params = &chain_params(ChainKind::signet);
    chain.store = store.get();
    chain.bus = &bus;
    chain.clock = &clock;
    const auto started = Chain::start(chain);
    REQUIRE_FALSE(started);
    CHECK(started.error().code == Errc::invalid_argument);
}
