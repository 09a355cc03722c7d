// SPDX-License-Identifier: MIT
#include "primitives/coin_script.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

using namespace blockpub;

TEST_SUITE_BEGIN("primitives.coin_script");

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes bytes_of(const CoinScript& script) {
    return {script.begin(), script.end()};
}

}  // namespace

TEST_CASE("a script keeps its bytes, within itself or on the heap") {
    for (const std::size_t size : {0, 1, 22, 35, 36, 37, 100, 10'000}) {
        CAPTURE(size);
        Bytes bytes(size);
        for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + 1);
        const CoinScript script(bytes);
        CHECK(script.size() == size);
        CHECK(script.empty() == (size == 0));
        CHECK(bytes_of(script) == bytes);
        const CoinScript copy(script);
        CHECK(copy == script);
        CHECK((size == 0 || copy.data() != script.data()));
        CoinScript source(script);
        const CoinScript moved(std::move(source));
        CHECK(bytes_of(moved) == bytes);
    }
}

TEST_CASE("scripts differ in size or in a byte") {
    CHECK(CoinScript{1, 2} == CoinScript{1, 2});
    CHECK_FALSE(CoinScript{1, 2} == CoinScript{1, 2, 0});
    CHECK_FALSE(CoinScript{1, 2} == CoinScript{1, 3});
    CHECK_FALSE(CoinScript(Bytes(50, 1)) == CoinScript(Bytes(50, 2)));
}

TEST_CASE("any series of assignments leaves what a vector would have") {
    const unsigned seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937 random(seed);
    std::vector<CoinScript> scripts(5);
    std::vector<Bytes> model(5);
    for (int round = 0; round < 3000; ++round) {
        const std::size_t to = random() % scripts.size();
        const std::size_t from = random() % scripts.size();
        switch (random() % 3) {
            case 0:
                scripts[to] = scripts[from];
                model[to] = Bytes(model[from]);
                break;
            case 1:
                if (to == from) break;
                scripts[to] = std::move(scripts[from]);
                model[to] = std::exchange(model[from], {});
                scripts[from] = CoinScript();
                break;
            default: {
                Bytes bytes(random() % 80, static_cast<std::uint8_t>(random()));
                std::ranges::copy(bytes, scripts[to].resize_for_overwrite(bytes.size()));
                model[to] = std::move(bytes);
            }
        }
        for (std::size_t i = 0; i < scripts.size(); ++i) REQUIRE(bytes_of(scripts[i]) == model[i]);
    }
}
