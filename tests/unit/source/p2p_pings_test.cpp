// SPDX-License-Identifier: MIT
#include "source/p2p_pings.hpp"

#include <doctest/doctest.h>

using namespace blockpub;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("source.p2p_pings");

TEST_CASE("an answer counts for the ping that is under way, and once") {
    const PeerPings::Time start{1000s};
    PeerPings pings(start);
    CHECK(pings.last() == start);
    CHECK_FALSE(pings.under_way());
    CHECK_FALSE(pings.waited(start + 5s));
    pings.answered(0, start + 1s);
    CHECK_FALSE(pings.latest());

    const std::uint64_t nonce = pings.begin(start + 10s);
    CHECK(nonce != 0);
    CHECK(pings.waited(start + 11s) == 1s);
    pings.answered(nonce + 1, start + 12s);
    CHECK(pings.under_way());
    pings.answered(nonce, start + 13s);
    CHECK_FALSE(pings.under_way());
    CHECK(pings.latest() == 3s);
    pings.answered(nonce, start + 20s);
    CHECK(pings.latest() == 3s);
}

TEST_CASE("the least of all answers is kept beside the latest") {
    PeerPings::Time now{1000s};
    PeerPings pings(now);
    for (const auto taken : {30ms, 10ms, 20ms}) {
        const std::uint64_t nonce = pings.begin(now);
        pings.answered(nonce, now += taken);
    }
    CHECK(pings.latest() == 20ms);
    CHECK(pings.least() == 10ms);
}

TEST_CASE("a ping whose time has begun anew tells nothing about how long answers take") {
    const PeerPings::Time start{1000s};
    PeerPings pings(start);
    const std::uint64_t nonce = pings.begin(start);
    pings.restart(start + 60s);
    CHECK(pings.waited(start + 61s) == 1s);
    pings.answered(nonce, start + 62s);
    CHECK_FALSE(pings.under_way());
    CHECK_FALSE(pings.latest());
    CHECK_FALSE(pings.least());
    const std::uint64_t next = pings.begin(start + 70s);
    pings.answered(next, start + 73s);
    CHECK(pings.latest() == 3s);
}

TEST_SUITE_END();
