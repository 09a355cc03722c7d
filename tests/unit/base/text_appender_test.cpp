// SPDX-License-Identifier: MIT
#include "base/text_appender.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace blockpub;

TEST_SUITE_BEGIN("base.text_appender");

TEST_CASE("what is appended stands behind what was there, and nothing behind it") {
    for (const std::size_t room : {std::size_t{0}, std::size_t{5}, std::size_t{4000}}) {
        std::string text = "begin ";
        text.reserve(room);
        {
            TextAppender out(text);
            CHECK(out.size() == 6);
            out.text("text");
            out.character(' ');
            out.integer(std::numeric_limits<std::int64_t>::min());
            out.character(' ');
            out.unsigned_integer(std::numeric_limits<std::uint64_t>::max());
            const std::size_t mark = out.size();
            out.text(" tail");
            out.repeat(mark, 5);
            CHECK(out.view(mark, 5) == " tail");
        }
        CHECK(text == "begin text -9223372036854775808 18446744073709551615 tail tail");
    }
}

TEST_CASE("a text longer than any room there was is whole") {
    std::string text;
    std::string wanted;
    {
        TextAppender out(text);
        for (int i = 0; i < 20'000; ++i) {
            out.unsigned_integer(static_cast<std::uint64_t>(i));
            out.character(',');
        }
    }
    for (int i = 0; i < 20'000; ++i) wanted += std::to_string(i) + ',';
    CHECK(text == wanted);
}

TEST_CASE("amounts have eight decimals, whatever their size") {
    struct Case {
        std::int64_t satoshi;
        const char* text;
    };
    static constexpr Case kCases[] = {
        {0, "0.00000000"},
        {1, "0.00000001"},
        {-1, "-0.00000001"},
        {99'999'999, "0.99999999"},
        {100'000'000, "1.00000000"},
        {-100'000'001, "-1.00000001"},
        {2'099'999'997'690'000, "20999999.97690000"},
        {std::numeric_limits<std::int64_t>::max(), "92233720368.54775807"},
        {std::numeric_limits<std::int64_t>::min(), "-92233720368.54775808"},
    };
    for (const Case& c : kCases) {
        std::string text;
        TextAppender(text).amount(c.satoshi);
        CHECK(text == c.text);
    }
}

TEST_CASE("digits of bytes of every length, forwards and backwards") {
    constexpr char kDigits[] = "0123456789abcdef";
    std::vector<std::uint8_t> bytes;
    std::string forwards;
    std::string backwards;
    for (std::size_t size = 0; size < 200; ++size) {
        std::string text;
        TextAppender(text).hex(bytes);
        REQUIRE(text == forwards);
        text.clear();
        TextAppender(text).reversed_hex(bytes);
        REQUIRE(text == backwards);
        const auto byte = static_cast<std::uint8_t>(size * 37 + 11);
        const std::string digits{kDigits[byte >> 4], kDigits[byte & 15]};
        bytes.push_back(byte);
        forwards += digits;
        backwards = digits + backwards;
    }
}

TEST_SUITE_END();
