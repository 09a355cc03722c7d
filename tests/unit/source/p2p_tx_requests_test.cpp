// SPDX-License-Identifier: MIT
#include "source/p2p_tx_requests.hpp"

#include "support/seed.hpp"

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <random>
#include <utility>
#include <vector>

using namespace blockpub;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("source.p2p_tx_requests");

namespace {

const TransactionRequests::Time kBegin{1000s};
constexpr TransactionRequests::Limits kFew{.announced = 10, .in_flight = 3, .patience = 60s};

InventoryItem transaction(std::uint8_t number) {
    std::array<std::uint8_t, 32> bytes{};
    bytes[0] = number;
    return {InventoryItem::witness_transaction, Hash256<InventoryTag>(bytes)};
}

}  // namespace

TEST_CASE("a transaction is asked of one peer, and of the next when that one does not have it") {
    TransactionRequests requests(kFew);
    requests.announce(0, transaction(1));
    requests.announce(1, transaction(1));
    requests.announce(0, transaction(1));
    CHECK(requests.ask(0, kBegin) == std::vector{transaction(1)});
    CHECK(requests.ask(0, kBegin).empty());
    CHECK(requests.ask(1, kBegin).empty());
    SUBCASE("it says so") {
        requests.decline(0, transaction(1).hash);
        CHECK(requests.ask(1, kBegin) == std::vector{transaction(1)});
        requests.decline(1, transaction(1).hash);
        CHECK(requests.size() == 0);
    }
    SUBCASE("it is gone") {
        requests.forget(0);
        CHECK(requests.ask(1, kBegin) == std::vector{transaction(1)});
        requests.forget(1);
        CHECK(requests.size() == 0);
    }
    SUBCASE("it takes too long") {
        CHECK(requests.ask(1, kBegin + 59s).empty());
        CHECK(requests.ask(1, kBegin + 60s) == std::vector{transaction(1)});
        requests.decline(0, transaction(1).hash);  // too late to matter
        CHECK(requests.is_known(transaction(1).hash));
        CHECK(requests.ask(0, kBegin + 120s).empty());
        CHECK(requests.size() == 0);
    }
    SUBCASE("it has come") {
        requests.settle(transaction(1).hash);
        CHECK(requests.ask(1, kBegin).empty());
        CHECK(requests.size() == 0);
    }
}

TEST_CASE("what is asked of one peer at a time, and kept for it, is bounded") {
    TransactionRequests requests(kFew);
    for (std::uint8_t i = 0; i < 20; ++i) requests.announce(0, transaction(i));
    CHECK(requests.ask(0, kBegin).size() == 3);
    CHECK(requests.ask(0, kBegin).empty());
    CHECK(requests.size() <= 20);
    for (std::uint8_t i = 0; i < 3; ++i) requests.settle(transaction(i).hash);
    CHECK(requests.ask(0, kBegin).size() == 3);
}

TEST_CASE("a peer that announces and has nothing leaves nothing behind, while another question is open") {
    TransactionRequests requests(kFew);
    requests.announce(0, transaction(0));
    TransactionRequests::Time now = kBegin;
    REQUIRE(requests.ask(0, now).size() == 1);
    for (int i = 0; i < 1000; ++i) {
        now += 1us;
        requests.announce(0, transaction(1));
        REQUIRE(requests.ask(0, now).size() == 1);
        requests.decline(0, transaction(1).hash);
    }
    CHECK(requests.questions() <= 2 * kFew.in_flight + 1);
    // The open one is not forgotten.
    requests.announce(1, transaction(0));
    CHECK(requests.ask(1, kBegin + 59s).empty());
    CHECK(requests.ask(1, kBegin + 60s) == std::vector{transaction(0)});
}

TEST_CASE("whatever peers do, nothing is asked twice at a time and nothing stays behind") {
    const unsigned seed = test::seed_of_run();
    MESSAGE("seed " << seed);
    std::mt19937 random(seed);
    TransactionRequests requests({.announced = 50, .in_flight = 5, .patience = 10s});
    std::map<Hash256<InventoryTag>, std::pair<std::uint32_t, TransactionRequests::Time>> asked;
    TransactionRequests::Time now = kBegin;
    for (int round = 0; round < 20'000; ++round) {
        const std::uint32_t peer = random() % 4;
        const InventoryItem item = transaction(static_cast<std::uint8_t>(random() % 40));
        switch (random() % 8) {
            case 0:
                requests.settle(item.hash);
                asked.erase(item.hash);
                break;
            case 1:
                requests.decline(peer, item.hash);
                if (asked.contains(item.hash) && asked[item.hash].first == peer) asked.erase(item.hash);
                break;
            case 2:
                if (random() % 10 != 0) break;
                requests.forget(peer);
                std::erase_if(asked, [&](const auto& entry) { return entry.second.first == peer; });
                break;
            case 3:
                now += 1s;
                break;
            case 4:
            case 5: {
                for (const InventoryItem& one : requests.ask(peer, now)) {
                    const auto before = asked.find(one.hash);
                    CHECK((before == asked.end() || now - before->second.second >= 10s));
                    asked.insert_or_assign(one.hash, std::pair{peer, now});
                }
                break;
            }
            default:
                requests.announce(peer, item);
        }
    }
    for (std::uint32_t peer = 0; peer < 4; ++peer) requests.forget(peer);
    CHECK(requests.size() == 0);
}

TEST_SUITE_END();
