// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>

// Sums and differences of numbers that come from outside. What does not fit is the nearest number that does.

namespace blockpub {

[[nodiscard]] constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
    constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    if (b > 0 && a > kMost - b) return kMost;
    if (b < 0 && a < kLeast - b) return kLeast;
    return a + b;
}

[[nodiscard]] constexpr std::int64_t saturating_subtract(std::int64_t a, std::int64_t b) {
    constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    if (b < 0 && a > kMost + b) return kMost;
    if (b > 0 && a < kLeast + b) return kLeast;
    return a - b;
}

}  // namespace blockpub
