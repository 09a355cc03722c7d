// SPDX-License-Identifier: MIT
#include "source/p2p_upload.hpp"

#include <doctest/doctest.h>

using namespace blockpub;

TEST_SUITE_BEGIN("source.p2p_upload");

namespace {

constexpr std::int64_t kDayBegan = 1'700'000'000;
// What is kept free for the new blocks of a whole day.
constexpr std::uint64_t kDayOfBlocks = 144 * std::uint64_t{4'000'000};

}  // namespace

TEST_CASE("without a target nothing is ever reached") {
    UploadTarget target(0);
    target.add(std::uint64_t{1} << 50, kDayBegan);
    CHECK_FALSE(target.reached(kDayBegan));
    CHECK_FALSE(target.history_reached(kDayBegan));
    CHECK(target.shown(kDayBegan).time_left == 0);
    CHECK(target.shown(kDayBegan).bytes_left == 0);
}

TEST_CASE("history ends before the target, by the blocks that may still come that day") {
    UploadTarget target(kDayOfBlocks + 1000);
    CHECK_FALSE(target.history_reached(kDayBegan));
    target.add(999, kDayBegan);
    CHECK_FALSE(target.history_reached(kDayBegan));
    target.add(1, kDayBegan);
    CHECK(target.history_reached(kDayBegan));
    CHECK_FALSE(target.reached(kDayBegan));
    // Half of the day is over, and with it half of what was kept.
    const std::int64_t noon = kDayBegan + UploadTarget::kCycle / 2;
    CHECK_FALSE(target.history_reached(noon));
    target.add(kDayOfBlocks / 2, noon);
    CHECK(target.history_reached(noon));
    CHECK(target.shown(noon).bytes_left == kDayOfBlocks / 2);
    CHECK(target.shown(noon).time_left == UploadTarget::kCycle / 2);
    target.add(kDayOfBlocks / 2, noon);
    CHECK(target.reached(noon));
    CHECK(target.shown(noon).bytes_left == 0);
}

TEST_CASE("the next day begins anew") {
    UploadTarget target(1000);
    target.add(5000, kDayBegan);
    CHECK(target.reached(kDayBegan));
    const std::int64_t tomorrow = kDayBegan + UploadTarget::kCycle;
    CHECK_FALSE(target.reached(tomorrow));
    CHECK(target.shown(tomorrow).bytes_left == 1000);
    target.add(10, tomorrow);
    CHECK(target.shown(tomorrow).bytes_left == 990);
    CHECK(target.shown(tomorrow).time_left == UploadTarget::kCycle);
}

TEST_SUITE_END();
