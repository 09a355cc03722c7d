// SPDX-License-Identifier: MIT
#include "query/json_writer.hpp"

#include "base/mapped_read.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

using namespace blockpub;

TEST_SUITE_BEGIN("query.json_writer");

TEST_CASE("reals have sixteen significant digits and no more than they need") {
    struct Case {
        double value;
        const char* text;
    };
    static constexpr Case kCases[] = {
        {4.656542373906925e-10, "4.656542373906925e-10"},
        {1, "1"},
        {0, "0"},
        {0.5, "0.5"},
        {0.1, "0.1"},
        {1.0 / 3, "0.3333333333333333"},
        {92049594548485.47, "92049594548485.47"},
        {1e15, "1000000000000000"},
        {1e16, "1e+16"},
        {0.0001, "0.0001"},
        {0.00001, "1e-05"},
        {-2.5, "-2.5"},
        {0.9999967, "0.9999967"},
    };
    for (const Case& c : kCases) {
        std::string out;
        JsonWriter(out).real(c.value);
        CHECK(out == c.text);
    }
}

TEST_CASE("commas stand where they belong") {
    std::string out;
    JsonWriter writer(out);
    writer.begin_object();
    writer.member("a", 1);
    writer.key("b");
    writer.begin_array();
    writer.begin_object();
    writer.end_object();
    writer.begin_array();
    writer.end_array();
    writer.string("x");
    writer.null();
    writer.boolean(true);
    writer.end_array();
    writer.member("c", std::numeric_limits<std::uint64_t>::max());
    writer.member("d", std::numeric_limits<std::int64_t>::min());
    writer.member("e", "text");
    writer.member("f", false);
    writer.end_object();
    CHECK(
        out ==
        R"({"a":1,"b":[{},[],"x",null,true],"c":18446744073709551615,"d":-9223372036854775808,"e":"text","f":false})");
}

TEST_CASE("strings are escaped as bitcoind escapes them") {
    std::string out;
    JsonWriter(out).string(std::string_view("\0\x01\x1f \"\\/\b\t\n\f\r\x7f \xc3\xa9", 16));
    CHECK(out == "\"\\u0000\\u0001\\u001f \\\"\\\\/\\b\\t\\n\\f\\r\\u007f \xc3\xa9\"");
}

TEST_CASE("hexadecimal is written between quotes, behind what is there") {
    std::string out = "[";
    JsonWriter writer(out);
    const std::uint8_t bytes[] = {0x00, 0xff, 0x1a};
    writer.hex(bytes);
    writer.hex(ByteSpan());
    CHECK(out == "[\"00ff1a\",\"\"");
}

TEST_CASE("hexadecimal of every length is as long as it should be, whatever room there was") {
    for (std::size_t size = 0; size < 300; ++size) {
        for (const std::size_t room : {std::size_t{0}, std::size_t{100}, std::size_t{1000}}) {
            std::string out;
            out.reserve(room);
            JsonWriter(out).hex(std::vector<std::uint8_t>(size, 0xa5));
            std::string wanted = "\"";
            for (std::size_t i = 0; i < size; ++i) wanted += "a5";
            REQUIRE(out == wanted + '"');
        }
    }
}

TEST_CASE("what was begun can be taken back") {
    std::string out;
    JsonWriter writer(out);
    writer.begin_array();
    writer.integer(1);
    const auto mark = writer.mark();
    writer.begin_object();
    writer.member("half", 1);
    writer.key("done");
    writer.rewind(mark);
    writer.integer(2);
    writer.end_array();
    CHECK(out == "[1,2]");
}

TEST_CASE("digits of stored bytes stay out of the text where there is a list for them") {
    const auto held = std::make_shared<const SharedBytes>(SharedBytes::build(
        10'000, [](std::span<std::uint8_t> out) { std::ranges::fill(out, std::uint8_t{0xab}); }));
    const MappedBytes large(held->bytes(), held);
    const MappedBytes small = slice_mapped(large, 0, 2);

    std::string text;
    std::vector<JsonSplice> splices;
    JsonWriter writer(text, &splices);
    writer.begin_array();
    REQUIRE(writer.hex(large));
    const JsonWriter::Mark mark = writer.mark();
    REQUIRE(writer.hex(large));
    writer.rewind(mark);
    REQUIRE(writer.hex(small));
    writer.end_array();
    CHECK(text == R"(["","abab"])");
    REQUIRE(splices.size() == 1);
    CHECK(splices[0].at == 2);
    CHECK(splices[0].bytes.size() == 10'000);

    std::string plain;
    JsonWriter whole(plain);
    REQUIRE(whole.hex(large));
    CHECK(plain.size() == 20'002);
}

TEST_SUITE_END();
