// SPDX-License-Identifier: MIT
#include "primitives/bech32_errors.hpp"

#include "primitives/bech32.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

using namespace blockpub;

namespace {

constexpr std::string_view kCharacters = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const std::string kAddress = "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq";

char another(char c, unsigned step) {
    const std::size_t place = kCharacters.find(c);
    return kCharacters[(place + 1 + step % 31) % kCharacters.size()];
}

}  // namespace

TEST_SUITE_BEGIN("primitives.bech32_errors");

TEST_CASE("one or two mistyped characters are found wherever they stand") {
    const unsigned seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937 random(seed);
    REQUIRE(decode_bech32(kAddress));
    for (int round = 0; round < 60; ++round) {
        std::string text = kAddress;
        const std::size_t first = 3 + random() % (text.size() - 3);
        const std::size_t second = 3 + random() % (text.size() - 3);
        text[first] = another(text[first], static_cast<unsigned>(random()));
        if (second != first) text[second] = another(text[second], static_cast<unsigned>(random()));
        CAPTURE(text);
        std::vector<std::size_t> wanted{std::min(first, second)};
        if (second != first) wanted.push_back(std::max(first, second));
        const Bech32Mistake mistake = locate_bech32_mistake(text);
        // Two mistakes in the one encoding may look like one in the other.
        if (mistake.sentence == "Invalid Bech32 checksum") CHECK(mistake.positions == wanted);
        CHECK(mistake.positions.size() <= 2);
        CHECK_FALSE(mistake.positions.empty());
    }
}

TEST_CASE("what is no bech32 is told apart") {
    struct Case {
        const char* name;
        std::string text;
        const char* sentence;
        std::vector<std::size_t> positions;
    };
    const Case cases[] = {
        {"too long", std::string(92, 'q'), "Bech32 string too long", {90, 91}},
        {"mixed case", "bc1Qar0", "Invalid character or mixed case", {3}},
        {"not printable", "bc1q\x7f", "Invalid character or mixed case", {4}},
        {"no separator", "bcqqqqqq", "Missing separator", {}},
        {"separator too late", "bc1qqqqq", "Invalid separator position", {2}},
        {"nothing before it", "1qqqqqqqq", "Invalid separator position", {0}},
        {"a character of no value", "bc1qbqqqqqqq", "Invalid Base 32 character", {4}},
        {"as an address whose last is another",
         "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdl",
         "Invalid Bech32 checksum",
         {41}},
    };
    for (const Case& c : cases) {
        CAPTURE(c.name);
        const Bech32Mistake mistake = locate_bech32_mistake(c.text);
        CHECK(mistake.sentence == c.sentence);
        CHECK(mistake.positions == c.positions);
    }
}

TEST_SUITE_END();
