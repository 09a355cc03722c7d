// SPDX-License-Identifier: MIT
#include "primitives/merkle.hpp"

#include "base/hex.hpp"
#include "support/block_builder.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace blockpub;

TEST_SUITE_BEGIN("primitives.merkle");

namespace {

std::vector<Digest256> make_leaves(std::size_t count) {
    std::vector<Digest256> leaves;
    for (std::size_t i = 0; i < count; ++i) {
        const std::array<std::uint8_t, 2> number{static_cast<std::uint8_t>(i),
                                                 static_cast<std::uint8_t>(i >> 8)};
        leaves.push_back(sha256(number));
    }
    return leaves;
}

// The definition, written down as it reads: a level's odd last one is paired with itself.
Digest256 root_by_definition(const std::vector<Digest256>& level) {
    if (level.empty()) return {};
    if (level.size() == 1) return level.front();
    std::vector<Digest256> above;
    for (std::size_t i = 0; i < level.size(); i += 2) {
        above.push_back(sha256d_pair(level[i], level[std::min(i + 1, level.size() - 1)]));
    }
    return root_by_definition(above);
}

}  // namespace

TEST_CASE("the root of every number of leaves is the definition's, and not mutated") {
    for (std::size_t count = 0; count <= 130; ++count) {
        CAPTURE(count);
        const MerkleResult result = merkle_root(make_leaves(count));
        CHECK(result.root == root_by_definition(make_leaves(count)));
        CHECK_FALSE(result.mutated);
    }
}

TEST_CASE("a list padded with its own last leaves has the same root and is seen as mutated") {
    // CVE-2012-2459: at any level whose number of nodes is odd, its last node can be doubled by doubling the
    // leaves below.
    struct Case {
        const char* name;
        std::size_t honest;
        std::size_t repeated;  // of the last leaves
    };
    static constexpr Case kCases[] = {
        {"three leaves, the last doubled", 3, 1},  {"six leaves, the last two doubled", 6, 2},
        {"five, the last doubled", 5, 1},          {"twelve, the last four doubled", 12, 4},
        {"fourteen, the last two doubled", 14, 2},
    };
    for (const Case& c : kCases) {
        SUBCASE(c.name) {
            const std::vector<Digest256> honest = make_leaves(c.honest);
            std::vector<Digest256> padded = honest;
            padded.insert(padded.end(), honest.end() - static_cast<std::ptrdiff_t>(c.repeated), honest.end());
            const MerkleResult result = merkle_root(padded);
            CHECK(result.root == merkle_root(honest).root);
            CHECK(result.mutated);
        }
    }
}

TEST_CASE("equal leaves that are no pair are not a mutation") {
    std::vector<Digest256> leaves = make_leaves(4);
    leaves[2] = leaves[1];
    CHECK_FALSE(merkle_root(leaves).mutated);
    leaves = make_leaves(4);
    leaves[1] = leaves[0];
    CHECK(merkle_root(leaves).mutated);
}

TEST_CASE("the witness root takes the coinbase as zero and the others with their witness") {
    test::BlockSpec spec;
    spec.previous = chain_params(ChainKind::regtest).genesis_hash;
    test::TransactionSpec with_witness = test::spend({.txid = Txid(sha256({})), .position = 0}, 1000);
    with_witness.inputs[0].witness = {{1, 2, 3}};
    const test::TransactionSpec without = test::spend({.txid = Txid(sha256({})), .position = 1}, 2000);
    spec.transactions = {with_witness, without};
    const auto block = ParsedBlock::parse(test::build_block(spec).raw);
    REQUIRE(block);
    const std::vector<Digest256> leaves{Digest256{}, sha256d(with_witness.build()),
                                        without.txid().wire_bytes()};
    CHECK(block_witness_merkle_root(*block) == root_by_definition(leaves));
    const ByteSpan raw = block->raw().bytes();
    CHECK(witness_merkle_root(raw) == root_by_definition(leaves));
    CHECK_FALSE(witness_merkle_root(raw.first(raw.size() - 1)));
}

TEST_CASE("the commitment is the last output that has its form") {
    const auto commitment = [](std::size_t size) {
        Script script{0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed};
        script.resize(size);
        return script;
    };
    Script other = commitment(38);
    other[5] = 0xee;
    test::TransactionSpec coinbase = test::spend({.txid = {}, .position = 0xffffffff}, 0);
    coinbase.outputs = {{0, {0x51}}, {0, commitment(37)}, {0, other}};
    const auto find = [](const test::TransactionSpec& transaction) {
        const test::Bytes bytes = transaction.build();
        const auto view = TransactionView::parse_whole(bytes);
        REQUIRE(view);
        return witness_commitment_output(*view);
    };
    CHECK(find(coinbase) == std::nullopt);
    coinbase.outputs.push_back({0, commitment(38)});
    CHECK(find(coinbase) == 3);
    coinbase.outputs.push_back({0, commitment(50)});
    CHECK(find(coinbase) == 4);
    coinbase.outputs.push_back({0, {0x51}});
    CHECK(find(coinbase) == 4);
}
