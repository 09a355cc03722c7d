// SPDX-License-Identifier: MIT
#include "base/hex.hpp"

#include <doctest/doctest.h>

#include <cctype>
#include <string>
#include <vector>

using namespace blockpub;

TEST_SUITE_BEGIN("base.hex");

TEST_CASE("every byte survives encoding and decoding in either case of letters") {
    std::vector<std::uint8_t> bytes(256);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i);
    std::string hex = encode_hex(bytes);
    CHECK(decode_hex(hex) == bytes);
    for (char& c : hex) c = static_cast<char>(std::toupper(c));
    CHECK(decode_hex(hex) == bytes);
}

TEST_CASE("odd lengths and wrong digits are refused") {
    CHECK_FALSE(decode_hex("0"));
    CHECK_FALSE(decode_hex("0g"));
    CHECK_FALSE(decode_hex("g0"));
    CHECK_FALSE(decode_hex("0x00"));
    CHECK_FALSE(is_hex(""));
    CHECK_FALSE(is_hex("abc"));
    CHECK(is_hex("aBcD"));
    CHECK(decode_hex("") == std::vector<std::uint8_t>{});
}

TEST_CASE("every size comes back, however it falls on the blocks that are done at a time") {
    for (std::size_t size = 0; size <= 100; ++size) {
        CAPTURE(size);
        std::vector<std::uint8_t> bytes(size);
        for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(0x9f * i + size);
        std::string expected;
        for (const std::uint8_t byte : bytes) {
            expected += "0123456789abcdef"[byte >> 4];
            expected += "0123456789abcdef"[byte & 15];
        }
        CHECK(encode_hex(bytes) == expected);
        CHECK(decode_hex(expected) == bytes);
        CHECK(is_hex(expected) == (size != 0));
    }
}

TEST_CASE("each of the 256 characters is a digit or not, wherever it stands") {
    for (const std::size_t digits : {2u, 32u, 34u, 66u}) {
        for (std::size_t place = 0; place < digits; ++place) {
            for (int c = 0; c < 256; ++c) {
                std::string text(digits, '5');
                text[place] = static_cast<char>(c);
                const bool digit = std::isxdigit(c) != 0;
                CAPTURE(c);
                CAPTURE(place);
                REQUIRE(is_hex(text) == digit);
                const auto bytes = decode_hex(text);
                REQUIRE(bytes.has_value() == digit);
                if (!bytes) continue;
                const int value = std::stoi(std::string(1, static_cast<char>(c)), nullptr, 16);
                const int expected = place % 2 == 0 ? value * 16 + 5 : 5 * 16 + value;
                REQUIRE((*bytes)[place / 2] == expected);
            }
        }
    }
}

TEST_CASE("nothing is written beyond the digits") {
    const std::vector<std::uint8_t> bytes(37, 0xee);
    std::string out(80, '#');
    encode_hex_to(bytes, out.data());
    CHECK(out.substr(74) == "######");
    CHECK(out.substr(0, 74) == encode_hex(bytes));
    std::vector<std::uint8_t> back(37);
    CHECK(decode_hex_to(std::string_view(out).substr(0, 74), back));
    CHECK(back == bytes);
    CHECK_FALSE(decode_hex_to(std::string_view(out).substr(0, 72), back));
}
