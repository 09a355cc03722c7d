// SPDX-License-Identifier: MIT
#include "primitives/partial_merkle_tree.hpp"

#include "base/hex.hpp"
#include "primitives/merkle.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

using namespace blockpub;

namespace {

std::vector<Digest256> leaves_of(std::size_t count) {
    std::vector<Digest256> leaves(count);
    for (std::size_t i = 0; i < count; ++i) {
        leaves[i][0] = static_cast<std::uint8_t>(i);
        leaves[i][1] = static_cast<std::uint8_t>(i >> 8);
        leaves[i][31] = 1;
    }
    return leaves;
}

PartialMerkleTree decode(const std::vector<std::uint8_t>& bytes) {
    ByteReader reader(bytes);
    PartialMerkleTree tree = decode_partial_merkle_tree(reader);
    CHECK(reader.ok());
    CHECK(reader.remaining() == 0);
    return tree;
}

}  // namespace

TEST_SUITE_BEGIN("primitives.partial_merkle_tree");

TEST_CASE("a tree's root is the merkle root, whatever the number of leaves") {
    for (std::size_t count = 1; count < 70; ++count) {
        const MerkleTree tree(leaves_of(count));
        CHECK(tree.leaf_count() == count);
        CHECK(tree.node(tree.height(), 0) == merkle_root(leaves_of(count)).root);
    }
    CHECK(MerkleTree().leaf_count() == 0);
}

TEST_CASE("every choice of leaves is proven, and through bytes") {
    const unsigned seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937 random(seed);
    for (const std::size_t count : {1u, 2u, 3u, 5u, 7u, 8u, 9u, 16u, 17u, 100u, 1023u}) {
        const std::vector<Digest256> leaves = leaves_of(count);
        const MerkleTree tree(leaves);
        for (int round = 0; round < 20; ++round) {
            std::vector<bool> wanted(count);
            std::vector<Digest256> expected;
            for (std::size_t i = 0; i < count; ++i) wanted[i] = random() % (round + 1u) == 0;
            wanted[random() % count] = true;
            for (std::size_t i = 0; i < count; ++i) {
                if (wanted[i]) expected.push_back(leaves[i]);
            }
            std::vector<std::uint8_t> bytes;
            encode_partial_merkle_tree(prove_leaves(tree, wanted), bytes);
            const ProvenLeaves proven = check_proof(decode(bytes));
            CHECK(proven.root == tree.node(tree.height(), 0));
            CHECK(proven.leaves == expected);
        }
    }
}

TEST_CASE("the proof that the second transaction of block 170 is in it") {
    // Bytes behind the header, computed from the block by hand.
    const auto bytes = decode_hex(
        "02000000"
        "02"
        "82501c1178fa0b222c1f3d474ec726b832013f0a532b44bb620cce8624a5feb1"
        "169e1e83e930853391bc6f35f605c6754cfead57cf8387639d3b4096c54f18f4"
        "0105");
    REQUIRE(bytes);
    const ProvenLeaves proven = check_proof(decode(*bytes));
    CHECK(encode_hex(proven.root) == "ff104ccb05421ab93e63f8c3ce5c2c2e9dbb37de2764b3a3175c8166562cac7d");
    REQUIRE(proven.leaves.size() == 1);
    CHECK(encode_hex(proven.leaves[0]) == "169e1e83e930853391bc6f35f605c6754cfead57cf8387639d3b4096c54f18f4");
}

TEST_CASE("a proof with anything wrong proves nothing") {
    const std::vector<Digest256> leaves = leaves_of(7);
    std::vector<bool> wanted(7);
    wanted[2] = true;
    const PartialMerkleTree good = prove_leaves(MerkleTree(leaves), wanted);
    const auto proves_nothing = [](const PartialMerkleTree& tree) {
        const ProvenLeaves proven = check_proof(tree);
        return proven.root == Digest256{} && proven.leaves.empty();
    };
    REQUIRE_FALSE(proves_nothing(good));
    PartialMerkleTree bad = good;
    SUBCASE("no leaves") {
        bad.leaf_count = 0;
    }
    SUBCASE("more leaves than a block can have") {
        bad.leaf_count = 16'667;
    }
    SUBCASE("a hash too many") {
        bad.hashes.push_back(leaves[0]);
    }
    SUBCASE("a hash too few") {
        bad.hashes.pop_back();
    }
    SUBCASE("a byte of flags too many") {
        bad.flags.push_back(0);
    }
    SUBCASE("no flags") {
        bad.flags.clear();
    }
    SUBCASE("more hashes than leaves") {
        bad.hashes.resize(8);
    }
    SUBCASE("two equal neighbours") {
        // A tree of three whose third leaf stands twice: CVE-2012-2459.
        bad = {.leaf_count = 4, .hashes = {}, .flags = {}};
        std::vector<bool> all(4, true);
        std::vector<Digest256> doubled = leaves_of(3);
        doubled.push_back(doubled.back());
        bad = prove_leaves(MerkleTree(doubled), all);
    }
    CHECK(proves_nothing(bad));
}

TEST_CASE("counts that the bytes do not hold fail before anything is allocated") {
    for (const char* hex : {"", "02000000", "02000000fe00000002", "0200000001", "02000000fdffff"}) {
        const auto bytes = decode_hex(hex);
        ByteReader reader(*bytes);
        const PartialMerkleTree tree = decode_partial_merkle_tree(reader);
        CHECK_FALSE(reader.ok());
        CHECK(tree.hashes.empty());
    }
}

TEST_SUITE_END();
