// SPDX-License-Identifier: MIT
#include "source/p2p_orphans.hpp"

#include <doctest/doctest.h>

#include <array>
#include <initializer_list>
#include <vector>

using namespace blockpub;

TEST_SUITE_BEGIN("source.p2p_orphans");

namespace {

Txid parent_number(std::uint8_t number) {
    std::array<std::uint8_t, 32> bytes{};
    bytes[0] = number;
    return Txid(bytes);
}

/// Spends output 0 of each parent; `tag` makes it one of its kind.
TransactionRef child_of(std::initializer_list<std::uint8_t> parents, std::uint8_t tag,
                        std::size_t padding = 0) {
    std::vector<std::uint8_t> raw{2, 0, 0, 0, static_cast<std::uint8_t>(parents.size())};
    for (const std::uint8_t parent : parents) {
        raw.push_back(parent);
        raw.insert(raw.end(), 31 + 4, 0);
        raw.push_back(0);
        raw.insert(raw.end(), 4, 0xff);
    }
    raw.push_back(1);
    raw.push_back(tag);
    raw.insert(raw.end(), 7, 0);
    if (padding < 0xfd) {
        raw.push_back(static_cast<std::uint8_t>(padding));
    } else {
        raw.push_back(0xfd);
        raw.push_back(static_cast<std::uint8_t>(padding));
        raw.push_back(static_cast<std::uint8_t>(padding >> 8));
    }
    raw.insert(raw.end(), padding, 0x6a);
    raw.insert(raw.end(), 4, 0);
    auto transaction = MempoolTransaction::decode(SharedBytes::copy_of(raw));
    REQUIRE(transaction.has_value());
    return *transaction;
}

constexpr OrphanPool::Limits kThree{.count = 3, .bytes_of_one = 1000};

}  // namespace

TEST_CASE("a parent takes out all its children, and nobody else's") {
    OrphanPool orphans(kThree);
    const auto one = child_of({1, 2}, 1);
    const auto other = child_of({2, 3}, 2);
    CHECK(orphans.add(one, 0));
    CHECK_FALSE(orphans.add(one, 1));
    CHECK(orphans.add(other, 0));
    CHECK(orphans.take_children(parent_number(4)).empty());
    const auto taken = orphans.take_children(parent_number(1));
    REQUIRE(taken.size() == 1);
    CHECK(taken[0].transaction->wtxid() == one->wtxid());
    CHECK(orphans.take_children(parent_number(2)).size() == 1);
    CHECK(orphans.size() == 0);
}

TEST_CASE("the oldest leaves when there are too many, and a large one does not come in") {
    OrphanPool orphans(kThree);
    for (std::uint8_t i = 0; i < 10; ++i) CHECK(orphans.add(child_of({1}, i), 0));
    CHECK(orphans.size() == 3);
    CHECK(orphans.contains(child_of({1}, 9)->wtxid()));
    CHECK_FALSE(orphans.contains(child_of({1}, 6)->wtxid()));
    CHECK_FALSE(orphans.add(child_of({1}, 11, 2000), 0));
}

TEST_CASE("what a peer sent goes with it") {
    OrphanPool orphans(kThree);
    CHECK(orphans.add(child_of({1}, 1), 0));
    CHECK(orphans.add(child_of({1}, 2), 1));
    orphans.forget(0);
    CHECK(orphans.size() == 1);
    CHECK(orphans.take_children(parent_number(1)).size() == 1);
}

TEST_SUITE_END();
