// SPDX-License-Identifier: MIT
#include "query/json_reader.hpp"

#include "query/json_writer.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <random>
#include <string>

using namespace blockpub;

namespace {

std::string compact(const JsonDocument& document) {
    std::string out;
    JsonWriter(out).copy(document.root());
    return out;
}

}  // namespace

TEST_SUITE_BEGIN("query.json_reader");

TEST_CASE("what is JSON is taken and comes back compact, with its numbers as they came") {
    struct Case {
        const char* text;
        const char* compact;
    };
    static constexpr Case kCases[] = {
        {"{}", "{}"},
        {" [ ] ", "[]"},
        {"null", "null"},
        {"\t\r\n true ", "true"},
        {"[1.0, -0, 1E5, 0.10, 123456789012345678901234567890, 1e999]",
         "[1.0,-0,1E5,0.10,123456789012345678901234567890,1e999]"},
        {"{\"b\":1,\"a\":{\"c\":[]},\"b\":2}", "{\"b\":1,\"a\":{\"c\":[]},\"b\":2}"},
        {"\"\\u0041\\/\\\"\\\\\\b\\f\\n\\r\\t\"", "\"A/\\\"\\\\\\b\\f\\n\\r\\t\""},
        {"\"\\ud83d\\ude00 \\u00e9 \\u0000 \\u007f\"", "\"\xf0\x9f\x98\x80 \xc3\xa9 \\u0000 \\u007f\""},
        {"\"plain text of more than eight letters\"", "\"plain text of more than eight letters\""},
        {"\"z\xc3\xbcrich \xe2\x82\xac \xf0\x9f\x98\x80\"",
         "\"z\xc3\xbcrich \xe2\x82\xac \xf0\x9f\x98\x80\""},
        {"[[[\"\"]]]", "[[[\"\"]]]"},
        {"[false,true,null]", "[false,true,null]"},
    };
    for (const Case& c : kCases) {
        CAPTURE(c.text);
        JsonDocument document;
        CHECK(document.parse(c.text));
        CHECK(compact(document) == c.compact);
    }
}

TEST_CASE("what is not JSON is refused") {
    static const std::string kCases[] = {
        "",
        " ",
        "{",
        "}",
        "[",
        "]",
        "[1",
        "[1,",
        "[,1]",
        "[1,]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{1:2}",
        "{\"a\" 1}",
        "{\"a\":1 \"b\":2}",
        "[}",
        "{]",
        "01",
        "-",
        "+1",
        "1.",
        ".5",
        "1e",
        "1e+",
        "-a",
        "nul",
        "nulll",
        "True",
        "tru",
        "\"",
        "\"a",
        "\"\\\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\ud800\"",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\"",
        "\"a\nb\"",
        "\"\x01\"",
        "[] []",
        "[]x",
        "1 2",
        "\"\xff\"",
        "\"\xc0\x80\"",
        "\"\xe0\x80\x80\"",
        "\"\xed\xa0\x80\"",
        "\"\xf4\x90\x80\x80\"",
        "\"\xc3\"",
        "\"\xe2\x82\"",
        "\xef\xbb\xbf{}",
        "/* */ {}",
        "'a'",
        "NaN",
        "Infinity",
        std::string("[]\0", 3),
        std::string("\"\0\"", 3),
    };
    for (const std::string& text : kCases) {
        CAPTURE(text);
        JsonDocument document;
        CHECK_FALSE(document.parse(text));
        CHECK(document.root().is_null());
    }
}

TEST_CASE("nesting is bounded, and costs neither stack nor time") {
    const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
    JsonDocument document;
    CHECK(document.parse(nested(JsonDocument::kMaxDepth)));
    CHECK(compact(document) == nested(JsonDocument::kMaxDepth));
    CHECK_FALSE(document.parse(nested(JsonDocument::kMaxDepth + 1)));
    CHECK_FALSE(document.parse(nested(100'000)));
    CHECK_FALSE(document.parse(std::string(30'000'000, '[')));
    std::string objects;
    for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
    CHECK_FALSE(document.parse(objects));
}

TEST_CASE("the number of values is bounded") {
    std::string text = "[";
    for (std::size_t i = 0; i < JsonDocument::kMaxValues; ++i) text += "1,";
    text.back() = ']';
    JsonDocument document;
    CHECK_FALSE(document.parse(std::move(text)));
}

TEST_CASE("members and elements are found") {
    JsonDocument document;
    REQUIRE(document.parse(R"({"id":7,"list":[10,"x",[1,2,3],{"k":null}],"id":8,"text":"a\nb"})"));
    const JsonValue root = document.root();
    CHECK(root.size() == 4);
    CHECK(root.find("id")->integer() == 7);  // the first of its name
    CHECK_FALSE(root.find("none"));
    const JsonValue list = *root.find("list");
    CHECK(list.size() == 4);
    CHECK(list.at(1).text() == "x");
    CHECK(list.at(2).at(2).integer() == 3);
    CHECK(list.at(3).find("k")->is_null());
    CHECK(list.at(4).is_null());
    CHECK(root.find("text")->text() == "a\nb");
    CHECK_FALSE(list.find("x"));
    CHECK(root.at(0).is_null());
    CHECK(JsonValue().size() == 0);
}

TEST_CASE("integers are what 64 bits hold, written plainly") {
    struct Case {
        const char* text;
        std::optional<std::int64_t> value;
    };
    static const Case kCases[] = {
        {"0", 0},
        {"-1", -1},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
        {"9223372036854775808", std::nullopt},
        {"1.0", std::nullopt},
        {"1e2", std::nullopt},
        {"\"1\"", std::nullopt},
        {"true", std::nullopt},
    };
    for (const Case& c : kCases) {
        CAPTURE(c.text);
        JsonDocument document;
        REQUIRE(document.parse(c.text));
        CHECK(document.root().integer() == c.value);
    }
}

TEST_CASE("random text is taken or refused as another parser does") {
    const std::uint64_t seed = std::random_device()();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    static constexpr std::string_view kPieces[] = {"{",
                                                   "}",
                                                   "[",
                                                   "]",
                                                   ",",
                                                   ":",
                                                   "\"a\"",
                                                   "\"\\u0041\"",
                                                   "1",
                                                   "-2.5e3 ",
                                                   "true",
                                                   "null",
                                                   " ",
                                                   "\"\xc3\xa9\"",
                                                   "\"",
                                                   "\\",
                                                   "0",
                                                   ".",
                                                   "\"\\ud83d\\ude00\"",
                                                   "\xff"};
    int taken = 0;
    for (int round = 0; round < 30'000; ++round) {
        std::string text;
        const std::size_t length = random() % 9;
        for (std::size_t i = 0; i < length; ++i) text += kPieces[random() % std::size(kPieces)];
        CAPTURE(text);
        JsonDocument document;
        const bool valid = document.parse(text);
        const auto other = nlohmann::ordered_json::parse(text, nullptr, false);
        REQUIRE(valid == !other.is_discarded());
        if (!valid) continue;
        ++taken;
        REQUIRE(nlohmann::json::parse(compact(document)) == nlohmann::json::parse(text));
    }
    CHECK(taken > 1000);
}

TEST_SUITE_END();
