// SPDX-License-Identifier: MIT
#include "source/p2p_downloads.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>
#include <vector>

using namespace blockpub;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("source.p2p_downloads");

namespace {

BlockHash hash_of(std::uint32_t height) {
    std::array<std::uint8_t, 32> bytes{};
    for (int i = 0; i < 4; ++i)
        bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(height >> (8 * i));
    bytes[31] = 1;
    return BlockHash(bytes);
}

std::vector<HeaderDesk::Missing> missing(std::uint32_t first, std::uint32_t count) {
    std::vector<HeaderDesk::Missing> blocks;
    for (std::uint32_t i = 0; i < count; ++i) blocks.push_back({hash_of(first + i), {first + i}});
    return blocks;
}

const BlockDownloads::Time kStart{1000s};
constexpr BlockDownloads::Limits kSmall{.least_in_flight = 4,
                                        .most_in_flight = 8,
                                        .bytes_in_flight = 8000,
                                        .bytes_delivered = 10'000,
                                        .second_peer = 10s,
                                        .second_peer_of_few = 2s,
                                        .few = 2};

}  // namespace

TEST_CASE("two peers are never asked for the same block, lowest first") {
    BlockDownloads downloads(kSmall);
    downloads.offer(0, missing(1, 10));
    downloads.offer(1, missing(1, 10));
    const auto of_first = downloads.ask(0, kStart);
    const auto of_second = downloads.ask(1, kStart);
    REQUIRE(of_first.size() == 4);
    REQUIRE(of_second.size() == 4);
    for (std::uint32_t i = 0; i < 4; ++i) {
        CHECK(of_first[i] == hash_of(1 + i));
        CHECK(of_second[i] == hash_of(5 + i));
    }
    CHECK(downloads.ask(0, kStart).empty());
}

TEST_CASE("what a peer does not have is asked of another at once, and of it less and less often") {
    BlockDownloads downloads(kSmall);
    downloads.offer(0, missing(1, 1));
    downloads.offer(1, missing(1, 1));
    CHECK_FALSE(downloads.decline(0, hash_of(1), kStart));  // was not asked
    auto now = kStart;
    for (const auto pause : {5s, 10s, 20s, 40s}) {
        REQUIRE(downloads.ask(0, now).size() == 1);
        CHECK(downloads.decline(0, hash_of(1), now));
        CHECK_FALSE(downloads.decline(0, hash_of(1), now));
        CHECK(downloads.idle());
        downloads.offer(0, missing(1, 1));
        CHECK(downloads.ask(0, now + pause - 1ms).empty());
        CHECK(downloads.has_declined(0, hash_of(1), now + pause - 1ms));
        CHECK_FALSE(downloads.has_declined(0, hash_of(1), now + pause));
        CHECK_FALSE(downloads.has_declined(1, hash_of(1), now));
        now += pause;
    }
    for (int i = 0; i < 10; ++i) {
        REQUIRE(downloads.ask(0, now).size() == 1);
        CHECK(downloads.decline(0, hash_of(1), now));
        downloads.offer(0, missing(1, 1));
        now += 600s;
    }
    REQUIRE(downloads.ask(1, now).size() == 1);
    CHECK(downloads.receive(1, hash_of(1), 100, now));
    downloads.settle(hash_of(1));
    // A peer that comes again has a clean sheet.
    downloads.offer(0, missing(2, 1));
    REQUIRE(downloads.ask(0, now).size() == 1);
    CHECK(downloads.decline(0, hash_of(2), now));
    downloads.forget(0);
    downloads.offer(0, missing(2, 1));
    CHECK(downloads.ask(0, now).size() == 1);
}

TEST_CASE("a block that was not asked for is told apart") {
    BlockDownloads downloads(kSmall);
    downloads.offer(0, missing(1, 1));
    CHECK_FALSE(downloads.receive(0, hash_of(1), 100, kStart));
    static_cast<void>(downloads.ask(0, kStart));
    CHECK_FALSE(downloads.receive(1, hash_of(1), 100, kStart));
    CHECK(downloads.receive(0, hash_of(1), 100, kStart + 3s) == 3s);
    CHECK_FALSE(downloads.receive(0, hash_of(1), 100, kStart));
}

TEST_CASE("small blocks let more be on the way, large ones fewer") {
    BlockDownloads downloads(kSmall);
    downloads.offer(0, missing(1, 100));
    static_cast<void>(downloads.ask(0, kStart));
    static_cast<void>(downloads.receive(0, hash_of(1), 100, kStart));
    static_cast<void>(downloads.ask(0, kStart));
    CHECK(downloads.in_flight(0) == kSmall.most_in_flight);
    BlockDownloads large(kSmall);
    large.offer(0, missing(1, 100));
    static_cast<void>(large.ask(0, kStart));
    static_cast<void>(large.receive(0, hash_of(1), 4000, kStart));
    static_cast<void>(large.ask(0, kStart));
    CHECK(large.in_flight(0) == kSmall.least_in_flight);
}

TEST_CASE("what waits for the chain thread bounds what is asked for") {
    BlockDownloads downloads(kSmall);
    downloads.offer(0, missing(1, 100));
    static_cast<void>(downloads.ask(0, kStart));
    static_cast<void>(downloads.receive(0, hash_of(1), 10'000, kStart));
    CHECK(downloads.full());
    CHECK(downloads.ask(0, kStart).empty());
    downloads.settle(hash_of(1));
    CHECK(downloads.bytes_delivered() == 0);
    CHECK(downloads.ask(0, kStart).size() == 1);
}

TEST_CASE("a block can be asked of a peer by itself, once") {
    BlockDownloads downloads(kSmall);
    CHECK(downloads.request(0, missing(3, 1).front(), kStart));
    CHECK_FALSE(downloads.request(0, missing(3, 1).front(), kStart));
    CHECK(downloads.in_flight(0) == 1);
    CHECK(*downloads.waiting_since(0) == kStart);
    // Nobody else is asked for it in the ordinary way, and another can be by itself.
    downloads.offer(1, missing(3, 1));
    CHECK(downloads.ask(1, kStart).empty());
    CHECK(downloads.request(1, missing(3, 1).front(), kStart));
    CHECK(downloads.receive(0, hash_of(3), 100, kStart + 1s) == 1s);
    CHECK(downloads.receive(1, hash_of(3), 100, kStart + 2s) == 2s);
    downloads.settle(hash_of(3));
    CHECK(downloads.idle());
}

TEST_CASE("a peer that leaves gives back what it was asked for") {
    BlockDownloads downloads(kSmall);
    downloads.offer(0, missing(1, 4));
    downloads.offer(1, missing(1, 4));
    static_cast<void>(downloads.ask(0, kStart));
    CHECK(downloads.ask(1, kStart).empty());
    downloads.forget(0);
    CHECK(downloads.ask(1, kStart).size() == 4);
}

TEST_CASE("an idle peer is asked for what another has kept for too long, and one alone") {
    BlockDownloads downloads(kSmall);
    for (const std::uint32_t peer : {0U, 1U, 2U}) downloads.offer(peer, missing(1, 3));
    static_cast<void>(downloads.ask(0, kStart));
    CHECK(downloads.ask(1, kStart + 9s).empty());
    CHECK(downloads.ask(1, kStart + 10s).size() == 3);
    CHECK(downloads.ask(2, kStart + 60s).empty());
    // Whoever is first; the other's comes too late, and is no offence.
    CHECK(downloads.receive(1, hash_of(1), 100, kStart + 11s));
    downloads.settle(hash_of(1));
    CHECK(downloads.receive(0, hash_of(1), 100, kStart + 12s));
    downloads.settle(hash_of(1));
    CHECK(downloads.bytes_delivered() == 0);
}

TEST_CASE("where few blocks are waited for an idle peer is asked sooner") {
    BlockDownloads downloads(kSmall);
    for (const std::uint32_t peer : {0U, 1U, 2U}) downloads.offer(peer, missing(1, 2));
    CHECK(downloads.ask(0, kStart).size() == 2);
    CHECK(downloads.ask(1, kStart + 1999ms).empty());
    CHECK(downloads.ask(1, kStart + 2s).size() == 2);
    CHECK(downloads.ask(2, kStart + 60s).empty());
}

TEST_CASE("a list that is older than a block does not make it be asked for again") {
    BlockDownloads downloads(kSmall);
    downloads.offer(0, missing(1, 2));
    downloads.offer(1, missing(1, 2));
    static_cast<void>(downloads.ask(0, kStart));
    static_cast<void>(downloads.receive(0, hash_of(1), 100, kStart));
    downloads.settle(hash_of(1));
    CHECK(downloads.ask(1, kStart).empty());
    CHECK_FALSE(downloads.has_offers(0));
}

TEST_CASE("whatever peers do, every block is had once, and the books are even") {
    const unsigned seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t limit) { return random() % limit; };
    BlockDownloads downloads(kSmall);
    std::set<std::uint32_t> had;
    std::map<std::uint32_t, std::set<std::uint32_t>> asked;  // by peer
    std::vector<std::uint32_t> settling;
    auto now = kStart;
    const std::uint32_t total = 120;
    for (unsigned step = 0; had.size() < total; ++step) {
        REQUIRE(step < 100'000);
        now += std::chrono::milliseconds(below(3000));
        const std::uint32_t peer = below(4);
        switch (below(6)) {
            case 0: {
                std::vector<HeaderDesk::Missing> left;
                for (std::uint32_t height = 0; height < total; ++height) {
                    const bool waits = std::ranges::find(settling, height) != settling.end();
                    if (!had.contains(height) || waits) left.push_back({hash_of(height), {height}});
                }
                downloads.offer(peer, left);
                break;
            }
            case 1:
            case 2:
                for (const BlockHash& hash : downloads.ask(peer, now)) {
                    const std::uint32_t height = hash.wire_bytes()[0];
                    REQUIRE(asked[peer].insert(height).second);
                }
                REQUIRE(downloads.in_flight(peer) == asked[peer].size());
                break;
            case 3:
                if (!asked[peer].empty()) {
                    const std::uint32_t height = *asked[peer].begin();
                    asked[peer].erase(height);
                    const bool twice = downloads.is_settling(hash_of(height));
                    REQUIRE(downloads.receive(peer, hash_of(height), 500 + below(3000), now));
                    had.insert(height);
                    if (!twice) settling.push_back(height);
                }
                break;
            case 4:
                if (!settling.empty()) {
                    downloads.settle(hash_of(settling.front()));
                    settling.erase(settling.begin());
                }
                break;
            default:
                if (below(10) == 0) {
                    downloads.forget(peer);
                    asked[peer].clear();
                }
        }
    }
    for (const std::uint32_t height : settling) downloads.settle(hash_of(height));
    for (const std::uint32_t peer : {0U, 1U, 2U, 3U}) downloads.forget(peer);
    CHECK(downloads.idle());
    CHECK(downloads.bytes_delivered() == 0);
}

TEST_SUITE_END();
