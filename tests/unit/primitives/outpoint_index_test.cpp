// SPDX-License-Identifier: MIT
#include "primitives/outpoint_index.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <vector>

using namespace blockpub;

namespace {

/// One of a few outpoints, so that they come again.
Outpoint some_outpoint(std::mt19937& random, unsigned different) {
    std::array<std::uint8_t, 32> txid{};
    txid[0] = static_cast<std::uint8_t>(random() % 4);
    txid[31] = static_cast<std::uint8_t>(random() % 4);
    return {.txid = Txid(txid), .position = static_cast<std::uint32_t>(random() % different)};
}

}  // namespace

TEST_SUITE_BEGIN("primitives.outpoint_index");

TEST_CASE("an outpoint is found under the number it was kept under last, and no other is found") {
    const unsigned seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937 random(seed);
    for (const unsigned different : {2U, 50U, 2000U}) {
        OutpointIndex index;
        std::vector<Outpoint> outpoints;
        std::map<Outpoint, std::uint32_t> model;
        const auto at = [&](std::uint32_t number) -> const Outpoint& { return outpoints[number]; };
        CHECK(index.find(some_outpoint(random, different), at) == OutpointIndex::kNone);
        for (std::uint32_t number = 0; number < 5000; ++number) {
            const Outpoint outpoint = some_outpoint(random, different);
            index.put(outpoint, number, at);
            outpoints.push_back(outpoint);
            model[outpoint] = number;
            if (number % 1000 == 0) index.reserve(number);
            const Outpoint asked = some_outpoint(random, different);
            const auto expected = model.find(asked);
            REQUIRE(index.find(asked, at) ==
                    (expected == model.end() ? OutpointIndex::kNone : expected->second));
        }
        for (const auto& [outpoint, number] : model) REQUIRE(index.find(outpoint, at) == number);
    }
}
