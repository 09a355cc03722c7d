// SPDX-License-Identifier: MIT
#include "primitives/siphash.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

using namespace blockpub;

TEST_SUITE_BEGIN("primitives.siphash");

// The key of bytes 0 to 15, and the reference implementation's answers to the bytes 0 to n - 1.
TEST_CASE("the reference vectors come out") {
    const SipHashKey key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
    struct Case {
        std::size_t size;
        std::uint64_t hash;
    };
    for (const Case& c : {Case{0, 0x726fdb47dd0e0e31}, Case{1, 0x74f839c593dc67fd},
                          Case{8, 0x93f5f5799a932462}, Case{15, 0xa129ca6149be45e5}}) {
        std::vector<std::uint8_t> bytes(c.size);
        std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
        CAPTURE(c.size);
        CHECK(siphash(key, bytes) == c.hash);
    }
}

TEST_SUITE_END();
