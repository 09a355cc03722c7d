// SPDX-License-Identifier: MIT
#include "chain/header_index.hpp"

#include "chain/header_tree.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <map>
#include <random>

using namespace blockpub;

namespace {

/// A hash of a few different beginnings, so that many nodes share one.
BlockHash crowded_hash(std::mt19937& random) {
    std::array<std::uint8_t, 32> bytes{};
    bytes[0] = static_cast<std::uint8_t>(random() % 3);
    bytes[31] = static_cast<std::uint8_t>(random());
    bytes[30] = static_cast<std::uint8_t>(random() % 4);
    return BlockHash(bytes);
}

BlockHash random_hash(std::mt19937& random) {
    std::array<std::uint8_t, 32> bytes{};
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    return BlockHash(bytes);
}

void check_against_map(BlockHash (*make_hash)(std::mt19937&), int count) {
    const unsigned seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937 random(seed);
    HeaderIndex index;
    std::deque<HeaderNode> nodes;
    std::map<BlockHash, HeaderNode*> model;
    CHECK(index.find(make_hash(random)) == nullptr);
    for (int i = 0; i < count; ++i) {
        HeaderNode& node = nodes.emplace_back();
        node.hash = make_hash(random);
        REQUIRE(index.insert(node) == model.try_emplace(node.hash, &node).second);
        const BlockHash asked = make_hash(random);
        const auto expected = model.find(asked);
        REQUIRE(index.find(asked) == (expected == model.end() ? nullptr : expected->second));
    }
    for (const auto& [hash, node] : model) REQUIRE(index.find(hash) == node);
}

}  // namespace

TEST_SUITE_BEGIN("chain.header_index");

TEST_CASE("every node that was inserted is found, and no other") {
    check_against_map(random_hash, 20'000);
}

TEST_CASE("hashes that begin alike are told apart") {
    check_against_map(crowded_hash, 3000);
}

TEST_CASE("room made ahead changes nothing that is in it") {
    std::mt19937 random(5);
    HeaderIndex index;
    std::deque<HeaderNode> nodes;
    for (const std::size_t room : {1U, 100U, 1000U, 10U}) {
        index.reserve(room);
        nodes.emplace_back().hash = random_hash(random);
        REQUIRE(index.insert(nodes.back()));
        for (HeaderNode& node : nodes) CHECK(index.find(node.hash) == &node);
    }
}
