// SPDX-License-Identifier: MIT
#include "chain/chain.hpp"
#include "event_replay.hpp"
#include "event_script.hpp"
#include "support/regtest_chain.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <set>
#include <thread>

using namespace blockpub;
using namespace blockpub::test;

namespace {

void import(RegtestChain& node, const BuiltBlock& block) {
    must(node.chain().import_block(must(ParsedBlock::parse(block.raw))));
}

void import_all(RegtestChain& node, const std::vector<BuiltBlock>& blocks) {
    node.chain().begin_import();
    for (const BuiltBlock& block : blocks) import(node, block);
    must(node.chain().end_import());
}

std::size_t waiting_records(RegtestChain& node) {
    std::size_t count = 0;
    must(node.store().scan_meta("waiting/", [&](std::string_view, std::string_view) -> Result<void> {
        ++count;
        return {};
    }));
    return count;
}

}  // namespace

TEST_SUITE_BEGIN("chain.import");

TEST_CASE("blocks in order connect one by one, and share commits") {
    RegtestChain node;
    const auto a = build_branch(regtest_genesis(), 300);
    const std::uint64_t before = node.store().status().commits;
    import_all(node, a);
    CHECK(node.tip() == a.back().hash);
    CHECK(node.log().size() == 301);
    CHECK(node.store().status().commits - before < 100);
    const ImportCounters counters = node.chain().import_counters();
    CHECK(counters.accepted == 300);
    CHECK(counters.waiting == 0);
    CHECK(node.released().size() == 2 * 301);
}

TEST_CASE("blocks in any order end in the same chain") {
    const unsigned seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937 random(seed);
    RegtestChain node;
    auto blocks = build_branch(regtest_genesis(), 200);
    const BlockHash best = blocks.back().hash;
    std::ranges::shuffle(blocks, random);
    import_all(node, blocks);
    CHECK(node.tip() == best);
    CHECK(replay(node.log()).size() == 201);
    CHECK(waiting_records(node) == 0);
    CHECK(node.chain().import_counters().accepted == 200);
    CHECK(node.chain().import_counters().waiting == 0);
}

TEST_CASE("children wait over restarts, and nothing has to be offered twice") {
    const unsigned seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937 random(seed);
    RegtestChain node;
    const auto chain = build_branch(regtest_genesis(), 60);
    auto blocks = chain;
    std::ranges::shuffle(blocks, random);
    for (std::size_t i = 0; i < blocks.size(); i += 20) {
        import_all(node, {blocks.begin() + static_cast<std::ptrdiff_t>(i),
                          blocks.begin() + static_cast<std::ptrdiff_t>(std::min(blocks.size(), i + 20))});
        CHECK(waiting_records(node) == node.chain().import_counters().waiting);
        node.restart();
    }
    CHECK(node.tip() == chain.back().hash);
    CHECK(waiting_records(node) == 0);
    CHECK(replay(node.log()).size() == 61);
}

TEST_CASE("a chain in reverse order is taken up by its first block, also one that is submitted") {
    RegtestChain node;
    auto blocks = build_branch(regtest_genesis(), 100);
    const auto first = blocks.front();
    const BlockHash best = blocks.back().hash;
    std::ranges::reverse(blocks);
    blocks.pop_back();
    import_all(node, blocks);
    CHECK(node.chain().import_counters().waiting == 99);
    CHECK(node.tip() == regtest_genesis().hash);
    CHECK(node.submit(first).empty());
    // The answer is about the block itself; what waited follows.
    node.chain().begin_import();
    must(node.chain().end_import());
    CHECK(node.tip() == best);
    CHECK(waiting_records(node) == 0);
}

TEST_CASE("a header that arrives alone is enough for those that wait for it") {
    RegtestChain node;
    const auto blocks = build_branch(regtest_genesis(), 3);
    import_all(node, {blocks[1], blocks[2]});
    CHECK(waiting_records(node) == 2);
    must(node.chain().submit_header(blocks[0].raw.bytes().first(BlockHeader::kSize)));
    node.chain().begin_import();
    must(node.chain().end_import());
    CHECK(waiting_records(node) == 0);
    CHECK((node.header(blocks[2].hash).status & HeaderRecord::kHasChain) == 0);
    CHECK(node.tip() == regtest_genesis().hash);
    CHECK(node.submit(blocks[0]).empty());
    CHECK(node.tip() == blocks[2].hash);
    CHECK((node.header(blocks[2].hash).status & HeaderRecord::kHasChain) != 0);
    CHECK(node.header(blocks[2].hash).chain_tx_count == 4);
}

TEST_CASE("proof of work comes before waiting") {
    RegtestChain node;
    const auto parent = child_of(regtest_genesis());
    BlockSpec spec = child_spec(parent);
    spec.valid_proof_of_work = false;
    import_all(node, {build_block(spec)});
    CHECK(node.chain().import_counters().invalid == 1);
    CHECK(waiting_records(node) == 0);
}

TEST_CASE("waiting blocks are bounded in bytes; what is turned away can be offered again") {
    auto options = RegtestChain::default_options();
    const auto blocks = build_branch(regtest_genesis(), 10);
    options.chain.waiting_limit = 3 * blocks[0].raw.size() + 10;
    RegtestChain node(options);
    import_all(node, {blocks.begin() + 1, blocks.end()});
    CHECK(node.chain().import_counters().waiting == 3);
    CHECK(node.chain().import_counters().turned_away == 6);
    CHECK(waiting_records(node) == 3);
    import_all(node, {blocks[0]});
    CHECK(node.tip() == blocks[3].hash);
    CHECK(node.chain().import_counters().waiting == 0);
    import_all(node, blocks);
    CHECK(node.tip() == blocks.back().hash);
    CHECK(node.chain().import_counters().known == 4);
    CHECK(node.chain().import_counters().accepted == 10);
}

TEST_CASE("what is known, waiting or broken is counted and disturbs nothing") {
    RegtestChain node;
    const auto a = build_branch(regtest_genesis(), 3);
    BlockSpec broken = child_spec(a[2]);
    broken.coinbase = build_block(broken).coinbase;
    broken.coinbase->inputs[0].script[0] = 0x55;
    const BuiltBlock invalid = build_block(broken);
    const BuiltBlock below = child_of(invalid);
    import_all(node, {regtest_genesis(), a[0], a[0], a[2], a[2], a[1], invalid, invalid, below});
    const ImportCounters counters = node.chain().import_counters();
    CHECK(counters.accepted == 3);
    CHECK(counters.known == 3);
    CHECK(counters.invalid == 3);
    CHECK(node.tip() == a[2].hash);
    CHECK((node.header(invalid.hash).status & HeaderRecord::kFailed) != 0);
    CHECK_FALSE(node.header(invalid.hash).block);
    CHECK(node.submit(invalid) == "duplicate-invalid");
}

TEST_CASE("children of a block that was only mutated wait for its true bytes in the tree") {
    RegtestChain node;
    BlockSpec spec = child_spec(regtest_genesis());
    const BuiltBlock good = build_block(spec);
    spec.coinbase = good.coinbase;
    spec.coinbase->inputs[0].witness = {Bytes(32, 1)};
    const BuiltBlock mutated = build_block(spec);
    REQUIRE(mutated.hash == good.hash);
    const BuiltBlock child = child_of(good);
    import_all(node, {mutated, child});
    CHECK(node.tip() == regtest_genesis().hash);
    CHECK((node.header(good.hash).status & HeaderRecord::kFailed) == 0);
    import_all(node, {good});
    CHECK(node.tip() == child.hash);
}

TEST_CASE("a mark is stored with the blocks before it, never ahead of them") {
    RegtestChain node;
    const auto a = build_branch(regtest_genesis(), 50);
    node.chain().begin_import();
    for (std::size_t i = 0; i < a.size(); ++i) {
        import(node, a[i]);
        must(node.chain().mark_import("import/test", std::to_string(i)));
        if (i % 7 == 0) {
            const auto snapshot = must(node.store().snapshot());
            const auto mark = snapshot.meta("import/test");
            if (mark) CHECK(snapshot.header(a[std::stoul(*mark)].hash).has_value());
        }
    }
    must(node.chain().end_import());
    CHECK(must(must(node.store().snapshot()).meta("import/test")) == "49");
    node.restart();
    CHECK(must(must(node.store().snapshot()).meta("import/test")) == "49");
}

TEST_CASE("calls are answered while an import goes on, and their answers are durable") {
    RegtestChain node;
    const auto a = build_branch(regtest_genesis(), 400, 1);
    const auto b = build_branch(regtest_genesis(), 20, 2);
    std::thread importer([&] { import_all(node, a); });
    for (const BuiltBlock& block : b) {
        const std::string answer = node.submit(block);
        CHECK((answer.empty() || answer == "inconclusive"));
        const EventIndex durable = node.chain().status().durable_events;
        CHECK(node.log().size() >= durable);
    }
    importer.join();
    CHECK(node.tip() == a.back().hash);
    CHECK(replay(node.log()).size() == 401);
    CHECK(node.submit(a[399]) == "duplicate");
}

TEST_CASE("a source waits in front of a full queue and goes on when there is room") {
    auto options = RegtestChain::default_options();
    options.chain.import_queue_bytes = 1;  // one block at a time
    RegtestChain node(options);
    const auto a = build_branch(regtest_genesis(), 50);
    std::atomic<std::size_t> handed{0};
    node.chain().begin_import();
    node.chain().chain_lock().lock();
    std::thread importer([&] {
        for (const BuiltBlock& block : a) {
            import(node, block);
            ++handed;
        }
    });
    // One block is in the queue, and one in work unless the chain thread waits for the lock with something
    // else in hand; the next call waits for room.
    while (handed < 1) std::this_thread::yield();
    for (int i = 0; i < 1000 && handed <= 2; ++i) std::this_thread::yield();
    CHECK(handed <= 2);
    node.chain().chain_lock().unlock();
    importer.join();
    must(node.chain().end_import());
    CHECK(node.tip() == a.back().hash);
}

TEST_CASE("stop gives up what is queued, and a start finds a state that was current") {
    RegtestChain node;
    const auto a = build_branch(regtest_genesis(), 300);
    node.chain().begin_import();
    std::atomic<bool> refused{false};
    std::thread importer([&] {
        for (const BuiltBlock& block : a) {
            const auto handed = node.chain().import_block(*ParsedBlock::parse(block.raw));
            if (!handed) {
                CHECK(handed.error().code == Errc::stopped);
                refused = true;
                break;
            }
        }
        const auto ended = node.chain().end_import();
        if (!ended) CHECK(ended.error().code == Errc::stopped);
    });
    node.chain().stop();
    importer.join();
    CHECK(node.chain().submit_block(a[0].raw).error().code == Errc::stopped);
    CHECK(node.chain().invalidate_block(a[0].hash).error().code == Errc::stopped);
    node.restart();
    const auto chain = replay(node.log());
    CHECK(chain.back() == node.tip());
    import_all(node, a);
    CHECK(node.tip() == a.back().hash);
}
