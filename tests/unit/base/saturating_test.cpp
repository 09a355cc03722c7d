// SPDX-License-Identifier: MIT
#include "base/saturating.hpp"

#include <doctest/doctest.h>

using namespace blockpub;

TEST_SUITE_BEGIN("base.saturating");

namespace {
constexpr auto kLow = std::numeric_limits<std::int64_t>::min();
constexpr auto kHigh = std::numeric_limits<std::int64_t>::max();
}  // namespace

TEST_CASE("what fits is exact") {
    CHECK(saturating_add(2, 3) == 5);
    CHECK(saturating_add(kHigh, kLow) == -1);
    CHECK(saturating_add(kHigh - 1, 1) == kHigh);
    CHECK(saturating_add(kLow + 1, -1) == kLow);
    CHECK(saturating_subtract(2, 3) == -1);
    CHECK(saturating_subtract(kLow, kLow) == 0);
    CHECK(saturating_subtract(-1, kLow) == kHigh);
    CHECK(saturating_subtract(-1, kHigh) == kLow);
}

TEST_CASE("what does not fit is the nearest that does") {
    CHECK(saturating_add(kHigh, 1) == kHigh);
    CHECK(saturating_add(1, kHigh) == kHigh);
    CHECK(saturating_add(kLow, -1) == kLow);
    CHECK(saturating_add(kLow, kLow) == kLow);
    CHECK(saturating_subtract(0, kLow) == kHigh);
    CHECK(saturating_subtract(kHigh, -1) == kHigh);
    CHECK(saturating_subtract(kLow, 1) == kLow);
    CHECK(saturating_subtract(-2, kHigh) == kLow);
}

TEST_SUITE_END();
