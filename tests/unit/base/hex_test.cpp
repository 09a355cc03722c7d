// SPDX-License-Identifier: MIT
#include "base/hex.hpp"

#include <doctest/doctest.h>

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
