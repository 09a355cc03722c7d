// SPDX-License-Identifier: MIT
#include "base/side_thread.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

using namespace blockpub;

TEST_SUITE_BEGIN("base.side_thread");

TEST_CASE("what the work did is seen once it has been waited for") {
    SideThread side("side");
    int sum = 0;
    for (int i = 1; i <= 100; ++i) {
        REQUIRE(side.try_start([&sum, i] { sum += i; }));
        side.wait();
    }
    CHECK(sum == 5050);
}

TEST_CASE("all work runs on one thread, which is not the owner's") {
    SideThread side("side");
    std::thread::id first;
    std::thread::id second;
    REQUIRE(side.try_start([&] { first = std::this_thread::get_id(); }));
    side.wait();
    REQUIRE(side.try_start([&] { second = std::this_thread::get_id(); }));
    side.wait();
    CHECK(first == second);
    CHECK(first != std::this_thread::get_id());
}

TEST_CASE("the end waits for work under way, and comes without any") {
    std::atomic<bool> done = false;
    {
        SideThread side("side");
        REQUIRE(side.try_start([&] { done = true; }));
    }
    CHECK(done);
    SideThread never_used("side");
    never_used.wait();
}
