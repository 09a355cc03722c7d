// SPDX-License-Identifier: MIT
#include "chain/header_desk.hpp"

#include "support/desk_calls.hpp"
#include "support/regtest_chain.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE_BEGIN("chain.header_desk");

TEST_CASE("headers come first, then their blocks in any order") {
    RegtestChain node;
    const std::vector<BuiltBlock> blocks = build_chain(12);
    const auto taken = at_desk(node, [&](HeaderDesk& desk) { return desk.take(headers_of(blocks)); });
    REQUIRE(taken.last);
    CHECK_FALSE(taken.rejection);
    CHECK(taken.last->height.value == 12);
    CHECK(missing(node, taken.last->hash) == hashes_of(blocks));
    CHECK(node.chain().status().best_header.height.value == 12);  // shown before what was asked behind it
    CHECK(missing(node, taken.last->hash, 3).size() == 3);

    for (std::size_t i = blocks.size(); i-- > 1;)
        CHECK(deliver(node, blocks[i].raw).kind == DeliveredBlock::Kind::accepted);
    CHECK(node.chain().status().tip.height.value == 0);
    CHECK(missing(node, taken.last->hash) == std::vector<BlockHash>{blocks[0].hash});
    CHECK(deliver(node, blocks[0].raw).kind == DeliveredBlock::Kind::accepted);
    CHECK(node.chain().status().tip.hash == blocks.back().hash);
    CHECK(missing(node, taken.last->hash).empty());
    CHECK(deliver(node, blocks[4].raw).kind == DeliveredBlock::Kind::known);
}

TEST_CASE("what a peer delivered is released in the order of the chain") {
    RegtestChain node;
    const std::vector<BuiltBlock> blocks = build_chain(5);
    static_cast<void>(node.released());
    static_cast<void>(at_desk(node, [&](HeaderDesk& desk) { return desk.take(headers_of(blocks)); }));
    for (const std::size_t i : {3U, 1U, 0U, 4U, 2U}) static_cast<void>(deliver(node, blocks[i].raw));
    must(node.chain().submit_header(
        ByteSpan(blocks[4].raw.bytes()).first(80)));  // behind all that was delivered
    CHECK(node.tip() == blocks[4].hash);
    CHECK(must(must(node.store().snapshot()).next_event()) == 6);
    CHECK(node.chain().status().durable_events == 6);
}

TEST_CASE("the first header that breaks a rule ends the taking") {
    RegtestChain node;
    std::vector<BlockHeader> headers = headers_of(build_chain(6));
    headers[3].bits = 0x1d00ffff;
    const auto taken = at_desk(node, [&](HeaderDesk& desk) { return desk.take(headers); });
    REQUIRE(taken.last);
    CHECK(taken.last->height.value == 3);
    REQUIRE(taken.rejection);
    CHECK(taken.rejection->reason == "high-hash");
}

TEST_CASE("a block that breaks a rule is refused with the reason, and its chain wants nothing more") {
    RegtestChain node;
    const std::vector<BuiltBlock> blocks = build_chain(3);
    static_cast<void>(at_desk(node, [&](HeaderDesk& desk) { return desk.take(headers_of(blocks)); }));
    std::vector<std::uint8_t> other(blocks[0].raw.bytes().begin(), blocks[0].raw.bytes().end());
    other.back() ^= 1;  // the lock time of its last transaction
    const DeliveredBlock outcome = deliver(node, SharedBytes::copy_of(other));
    CHECK(outcome.kind == DeliveredBlock::Kind::rejected);
    CHECK(outcome.reason.starts_with("bad-txnmrklroot"));
    // Only these bytes were wrong.
    CHECK(outcome.mutated);
    CHECK(deliver(node, blocks[0].raw).kind == DeliveredBlock::Kind::accepted);

    must(node.chain().invalidate_block(blocks[1].hash));
    CHECK(missing(node, blocks[2].hash).empty());
    CHECK(at_desk(node, [&](HeaderDesk& desk) { return desk.find(blocks[2].hash)->failed; }));
}

TEST_CASE("a block whose parent is unknown is stranded") {
    RegtestChain node;
    CHECK(deliver(node, build_chain(2)[1].raw).kind == DeliveredBlock::Kind::stranded);
}

TEST_CASE("a locator is dense at its end and reaches genesis") {
    RegtestChain node;
    const std::vector<BuiltBlock> blocks = build_chain(60);
    const auto taken = at_desk(node, [&](HeaderDesk& desk) { return desk.take(headers_of(blocks)); });
    const auto locator = at_desk(node, [&](HeaderDesk& desk) { return desk.locator(taken.last->hash); });
    REQUIRE(locator.size() > 12);
    for (std::size_t i = 0; i < 10; ++i) CHECK(locator[i] == blocks[59 - i].hash);
    CHECK(locator.back() == chain_params(ChainKind::regtest).genesis_hash);
    CHECK(locator.size() < 20);
}

TEST_CASE("the least work is that of the tip 144 blocks ago, or the chain's minimum") {
    RegtestChain::Options options = RegtestChain::default_options();
    options.chain.minimum_chainwork = Uint256(100);
    RegtestChain node(options);
    const std::vector<BuiltBlock> blocks = build_chain(200);
    CHECK(at_desk(node, [](HeaderDesk& desk) { return desk.least_work(); }) == Uint256(100));
    node.submit_all(blocks);
    // A block of regtest stands for two hashes; genesis counts.
    CHECK(at_desk(node, [](HeaderDesk& desk) { return desk.least_work(); }) == Uint256((201 - 144) * 2));
    CHECK(missing(node, blocks[3].hash).empty());
}

TEST_SUITE_END();
