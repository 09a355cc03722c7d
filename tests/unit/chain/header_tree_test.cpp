// SPDX-License-Identifier: MIT
#include "chain/header_tree.hpp"

#include "support/regtest_chain.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;

namespace {

constexpr std::uint32_t kRegtestBits = 0x207fffff;

/// A header that nobody has mined: the tree does not ask.
BlockHeader header_on(const HeaderNode* parent, std::uint32_t time, std::uint32_t salt = 0) {
    BlockHeader header;
    if (parent != nullptr) header.previous = parent->hash;
    header.time = time;
    header.bits = kRegtestBits;
    header.nonce = salt;
    return header;
}

HeaderNode& grow(HeaderTree& tree, HeaderNode* parent, std::uint32_t time, std::uint32_t salt = 0) {
    const BlockHeader header = header_on(parent, time, salt);
    return tree.insert(header, header.hash(), parent);
}

/// A tree of `count` nodes on random parents.
std::vector<HeaderNode*> grow_random(HeaderTree& tree, std::size_t count, std::mt19937& random) {
    std::vector<HeaderNode*> nodes{&grow(tree, nullptr, 0)};
    for (std::uint32_t i = 1; i < count; ++i) {
        // Mostly on one of the newest, so that branches are long.
        const std::size_t back =
            random() % 8 == 0 ? random() % nodes.size() : random() % std::min<std::size_t>(3, nodes.size());
        nodes.push_back(&grow(tree, nodes[nodes.size() - 1 - back], i, i));
    }
    return nodes;
}

}  // namespace

TEST_SUITE_BEGIN("chain.header_tree");

TEST_CASE("height, work and links follow from the parent") {
    HeaderTree tree;
    HeaderNode& genesis = grow(tree, nullptr, 100);
    HeaderNode& child = grow(tree, &genesis, 200, 1);
    HeaderNode& sibling = grow(tree, &genesis, 200, 2);
    CHECK(tree.genesis() == &genesis);
    CHECK(child.height.value == 1);
    CHECK(child.chainwork == genesis.chainwork + block_work(kRegtestBits));
    CHECK(tree.find(child.hash) == &child);
    CHECK(tree.find(BlockHash()) == nullptr);
    CHECK(child.header() == header_on(&genesis, 200, 1));
    CHECK(genesis.first_child == &sibling);
    CHECK(sibling.next_sibling == &child);
    CHECK(tree.size() == 3);
}

TEST_CASE("every ancestor is found through the skip links") {
    HeaderTree tree;
    std::vector<HeaderNode*> chain{&grow(tree, nullptr, 0)};
    for (std::uint32_t i = 1; i < 3000; ++i) chain.push_back(&grow(tree, chain.back(), i));
    std::mt19937 random(1);
    for (int i = 0; i < 20'000; ++i) {
        HeaderNode* const from = chain[random() % chain.size()];
        const Height wanted{static_cast<std::uint32_t>(random() % (from->height.value + 1))};
        REQUIRE(from->ancestor(wanted) == chain[wanted.value]);
    }
}

TEST_CASE("the walk to an ancestor is logarithmic") {
    HeaderTree tree;
    HeaderNode* tip = &grow(tree, nullptr, 0);
    for (std::uint32_t i = 1; i < 200'000; ++i) tip = &grow(tree, tip, i);
    // A hundred thousand linear walks would take minutes.
    std::mt19937 random(2);
    for (int i = 0; i < 100'000; ++i) {
        const Height wanted{static_cast<std::uint32_t>(random() % (tip->height.value + 1))};
        REQUIRE(tip->ancestor(wanted)->height == wanted);
    }
}

TEST_CASE("the last common ancestor is where two branches meet, in random trees") {
    const unsigned seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937 random(seed);
    HeaderTree tree;
    const auto nodes = grow_random(tree, 2000, random);
    for (int i = 0; i < 2000; ++i) {
        HeaderNode* const a = nodes[random() % nodes.size()];
        HeaderNode* const b = nodes[random() % nodes.size()];
        std::set<HeaderNode*> above_a;
        for (HeaderNode* node = a; node != nullptr; node = node->previous) above_a.insert(node);
        HeaderNode* expected = b;
        while (!above_a.contains(expected)) expected = expected->previous;
        REQUIRE(last_common_ancestor(a, b) == expected);
    }
}

TEST_CASE("descendants are visited once each, parents first, and only where the visit goes on") {
    std::mt19937 random(3);
    HeaderTree tree;
    const auto nodes = grow_random(tree, 500, random);
    HeaderNode& root = *nodes[7];
    std::set<HeaderNode*> expected;
    for (HeaderNode* node : nodes) {
        if (node != &root && node->height > root.height && node->ancestor(root.height) == &root)
            expected.insert(node);
    }
    std::set<HeaderNode*> visited;
    for_each_descendant(root, [&](HeaderNode& node) {
        CHECK((node.previous == &root || visited.contains(node.previous)));
        CHECK(visited.insert(&node).second);
        return true;
    });
    CHECK(visited == expected);
    std::size_t children = 0;
    for_each_descendant(root, [&](HeaderNode& node) {
        CHECK(node.previous == &root);
        ++children;
        return false;
    });
    std::size_t expected_children = 0;
    for (HeaderNode* node : nodes) expected_children += node->previous == &root;
    CHECK(children == expected_children);
}

TEST_CASE("median time past is the middle of up to eleven times") {
    struct Case {
        const char* name;
        std::vector<std::uint32_t> times;
        std::int64_t median;
    };
    const Case cases[] = {
        {"one", {5}, 5},
        {"two: the later", {5, 9}, 9},
        {"three, not in order", {5, 9, 7}, 7},
        {"eleven", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 6},
        {"twelve: the first one no longer counts", {100, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 7},
        {"beyond 31 bits", {4'000'000'000u, 4'000'000'001u, 4'000'000'002u}, 4'000'000'001},
    };
    for (const Case& c : cases) {
        SUBCASE(c.name) {
            HeaderTree tree;
            HeaderNode* tip = nullptr;
            for (std::uint32_t time : c.times) tip = &grow(tree, tip, time);
            CHECK(tip->median_time_past() == c.median);
        }
    }
}

TEST_CASE("less work is worse, then later arrival") {
    HeaderNode a;
    HeaderNode b;
    a.chainwork = Uint256(10);
    b.chainwork = Uint256(11);
    CHECK(is_worse(a, b));
    CHECK_FALSE(is_worse(b, a));
    a.chainwork = b.chainwork;
    a.sequence = 2;
    b.sequence = 1;
    CHECK(is_worse(a, b));
    a.sequence = -1;
    CHECK(is_worse(b, a));
    CHECK_FALSE(is_worse(a, a));
}

TEST_CASE("a tree is loaded from the store as it was, whatever the order of its records") {
    RegtestChain node;
    std::vector<BuiltBlock> blocks{regtest_genesis()};
    std::mt19937 random(4);
    for (std::uint64_t i = 1; i < 60; ++i) {
        blocks.push_back(
            child_of(blocks[blocks.size() - 1 - random() % std::min<std::size_t>(4, blocks.size())], i));
        static_cast<void>(node.submit(blocks.back()));
    }
    HeaderTree tree;
    must(tree.load(node.store()));
    CHECK(tree.size() == blocks.size());
    for (const BuiltBlock& block : blocks) {
        HeaderNode* const loaded = tree.find(block.hash);
        REQUIRE(loaded != nullptr);
        CHECK(loaded->record() == node.header(block.hash));
        CHECK(loaded->height == block.height);
        if (block.height.value != 0) {
            REQUIRE(loaded->previous != nullptr);
            CHECK(loaded->previous->hash == block.previous);
            CHECK(loaded->ancestor({0}) == tree.genesis());
        }
    }
}
