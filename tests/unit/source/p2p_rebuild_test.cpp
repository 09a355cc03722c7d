// SPDX-License-Identifier: MIT
#include "source/p2p_rebuild.hpp"

#include "primitives/block.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <vector>

using namespace blockpub;

TEST_SUITE_BEGIN("source.p2p_rebuild");

namespace {

TransactionRef numbered(std::uint8_t number) {
    std::vector<std::uint8_t> raw{2, 0, 0, 0, 1};
    raw.insert(raw.end(), 36, number);
    raw.push_back(0);
    raw.insert(raw.end(), 4, 0xff);
    raw.push_back(1);
    raw.insert(raw.end(), 8, 0);
    raw.insert(raw.end(), {1, 0x51, 0, 0, 0, 0});
    auto transaction = MempoolTransaction::decode(SharedBytes::copy_of(raw));
    REQUIRE(transaction.has_value());
    return *transaction;
}

/// A block of `count` transactions whose first one is sent whole.
CompactBlock compact_of(std::uint8_t count) {
    CompactBlock block;
    block.header.version = 4;
    block.nonce = 7;
    block.prefilled.push_back({0, numbered(0)->raw()});
    for (std::uint8_t i = 1; i < count; ++i)
        block.short_ids.push_back(short_id(block.key(), numbered(i)->wtxid()));
    return block;
}

}  // namespace

TEST_CASE("a block is put together from what is at hand, and what is asked for") {
    BlockRebuild rebuild(compact_of(6));
    REQUIRE_FALSE(rebuild.ambiguous());
    CHECK(rebuild.missing() == std::vector<std::uint32_t>{1, 2, 3, 4, 5});
    for (const std::uint8_t i : {9, 5, 2, 4}) rebuild.offer(*numbered(i));
    CHECK(rebuild.missing() == std::vector<std::uint32_t>{1, 3});
    CHECK_FALSE(rebuild.fill({numbered(1)->raw()}));
    CHECK_FALSE(rebuild.fill({numbered(1)->raw(), numbered(3)->raw(), numbered(4)->raw()}));
    CHECK(rebuild.fill({numbered(1)->raw(), numbered(3)->raw()}));
    const auto block = ParsedBlock::parse(rebuild.block());
    REQUIRE(block.has_value());
    REQUIRE(block->transactions().size() == 6);
    for (std::uint8_t i = 0; i < 6; ++i) CHECK(block->transactions()[i].txid == numbered(i)->txid());
    CHECK(block->hash() == compact_of(6).header.hash());
}

TEST_CASE("what is more than a block can have is not put together") {
    BlockRebuild rebuild(compact_of(6));
    const SharedBytes large = SharedBytes::copy_of(std::vector<std::uint8_t>(kMaxBlockSize / 5));
    CHECK(rebuild.fill({large, large, large, large, large}));
    CHECK(rebuild.block().size() == 0);
}

TEST_CASE("where two at hand could be the same transaction, it is asked for") {
    BlockRebuild rebuild(compact_of(3));
    rebuild.offer(*numbered(1));
    rebuild.offer(*numbered(1));
    rebuild.offer(*numbered(1));
    CHECK(rebuild.missing() == std::vector<std::uint32_t>{1, 2});
}

TEST_CASE("two transactions with one short id cannot be told apart") {
    CompactBlock block = compact_of(4);
    block.short_ids[2] = block.short_ids[0];
    CHECK(BlockRebuild(std::move(block)).ambiguous());
}

TEST_CASE("a peer has one block under way, and an answer to nothing is passed over") {
    const MempoolBoard board;
    CompactBlocks blocks(board);
    const BlockHash hash = compact_of(4).header.hash();
    CHECK(blocks.take(0, {.block = hash, .transactions = {}}).error().code == Errc::not_found);
    blocks.keep(0, compact_of(4));
    CHECK(blocks.has(0, hash));
    CHECK_FALSE(blocks.has(1, hash));
    CHECK(blocks.take(0, {.block = hash, .transactions = {}}).error().code == Errc::not_found);
    const auto step = blocks.begin(0);
    CHECK(step.kind == CompactBlocks::Step::Kind::ask_transactions);
    CHECK(step.positions == std::vector<std::uint32_t>{1, 2, 3});
    CompactBlock other = compact_of(2);
    other.header.time = 99;
    blocks.keep(0, other);
    CHECK_FALSE(blocks.has(0, other.header.hash()));
    CHECK(blocks.take(0, {.block = hash, .transactions = {}}).error().code == Errc::corrupt);
    const auto whole = blocks.take(
        0, {.block = hash, .transactions = {numbered(1)->raw(), numbered(2)->raw(), numbered(3)->raw()}});
    REQUIRE(whole.has_value());
    CHECK(whole->kind == CompactBlocks::Step::Kind::deliver);
    blocks.forget(0);
    CHECK_FALSE(blocks.has(0, hash));
}

TEST_SUITE_END();
