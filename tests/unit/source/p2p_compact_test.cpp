// SPDX-License-Identifier: MIT
#include "source/p2p_compact.hpp"

#include "base/hex.hpp"
#include "primitives/block.hpp"
#include "primitives/chain_params.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace blockpub;

TEST_SUITE_BEGIN("source.p2p_compact");

namespace {

// Main chain, block 170.
constexpr std::string_view kHeader170 =
    "0100000055bd840a78798ad0da853f68974f3d183e2bd1db6a842c1feecf222a00000000ff104ccb05421ab93e63f8c3ce5c2c2e"
    "9dbb"
    "37de2764b3a3175c8166562cac7d51b96a49ffff001d283e9e70";

SharedBytes coinbase() {
    const auto block = ParsedBlock::parse(SharedBytes::copy_of(chain_params(ChainKind::regtest).genesis));
    REQUIRE(block.has_value());
    return block->raw_transaction(0);
}

CompactBlock some_block() {
    CompactBlock block;
    block.header = BlockHeader::decode(*decode_hex(kHeader170));
    block.nonce = 5;
    block.short_ids = {1, 0xffff'ffff'ffff, 0x1234'5678'9abc};
    block.prefilled = {{0, coinbase()}, {3, coinbase()}};
    return block;
}

}  // namespace

// Worked out by another implementation of SHA-256 and SipHash.
TEST_CASE("a short id is the SipHash of the wtxid under the header's and the nonce's key") {
    const CompactBlock block = some_block();
    CHECK(block.key().k0 == 0x28fa2ef92d42e0d9);
    CHECK(block.key().k1 == 0xc4b59ccb9d09404a);
    const auto wtxid =
        Wtxid::from_display_hex("f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16");
    CHECK(short_id(block.key(), *wtxid) == 0x740b20313c11);
}

TEST_CASE("a compact block is read as it was written") {
    const CompactBlock block = some_block();
    const auto again = decode_compact_block(SharedBytes::copy_of(encode_compact_block(block)));
    REQUIRE(again.has_value());
    CHECK(again->header == block.header);
    CHECK(again->nonce == block.nonce);
    CHECK(again->short_ids == block.short_ids);
    REQUIRE(again->prefilled.size() == 2);
    CHECK(again->prefilled[1].position == 3);
    const SharedBytes original = coinbase();
    CHECK(std::ranges::equal(again->prefilled[1].transaction.bytes(), original.bytes()));
}

TEST_CASE("a compact block that ends too early is refused") {
    const auto encoded = encode_compact_block(some_block());
    for (std::size_t size = 0; size < encoded.size(); ++size)
        CHECK_FALSE(decode_compact_block(SharedBytes::copy_of(ByteSpan(encoded).first(size))).has_value());
}

TEST_CASE("a transaction cannot stand further back than the others reach") {
    CompactBlock block = some_block();
    block.prefilled[1].position = 4;
    CHECK(decode_compact_block(SharedBytes::copy_of(encode_compact_block(block))).has_value());
    block.prefilled[1].position = 5;
    CHECK_FALSE(decode_compact_block(SharedBytes::copy_of(encode_compact_block(block))).has_value());
}

TEST_CASE("a compact block without transactions is refused") {
    CompactBlock block = some_block();
    block.short_ids.clear();
    block.prefilled.clear();
    CHECK_FALSE(decode_compact_block(SharedBytes::copy_of(encode_compact_block(block))).has_value());
}

TEST_CASE("a request for transactions is read as it was written, places beyond 16 bits are refused") {
    BlockTransactionsRequest request{.block = {}, .positions = {0, 1, 5, 0xffff}};
    const auto encoded = encode_block_transactions_request(request);
    const auto again = decode_block_transactions_request(encoded);
    REQUIRE(again.has_value());
    CHECK(again->positions == request.positions);
    request.positions.back() = 0x10000;
    CHECK_FALSE(decode_block_transactions_request(encode_block_transactions_request(request)).has_value());
}

TEST_CASE("transactions are read as they were written") {
    const BlockTransactions message{.block = {}, .transactions = {coinbase(), coinbase()}};
    const auto encoded = encode_block_transactions(message);
    const auto again = decode_block_transactions(SharedBytes::copy_of(encoded));
    REQUIRE(again.has_value());
    CHECK(again->transactions.size() == 2);
    CHECK_FALSE(decode_block_transactions(SharedBytes::copy_of(ByteSpan(encoded).first(encoded.size() - 1)))
                    .has_value());
}

TEST_SUITE_END();
