// SPDX-License-Identifier: MIT
#include "query/rest_target.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

using namespace blockpub;

TEST_SUITE_BEGIN("query.rest_target");

TEST_CASE("a suffix is a format or belongs to the parameter") {
    struct Case {
        const char* text;
        const char* parameter;
        RestFormat format;
    };
    static constexpr Case kCases[] = {
        {"abc.bin", "abc", RestFormat::binary},
        {"abc.hex", "abc", RestFormat::hex},
        {"abc.json", "abc", RestFormat::json},
        {"abc.json?count=3", "abc", RestFormat::json},
        {"abc?x=.bin", "abc", RestFormat::none},
        {"abc.json?a=1?b=2", "abc.json?a=1", RestFormat::none},
        {"abc.xml", "abc.xml", RestFormat::none},
        {"abc.JSON", "abc.JSON", RestFormat::none},
        {"abc.", "abc.", RestFormat::none},
        {"abc", "abc", RestFormat::none},
        {"", "", RestFormat::none},
        {".json", "", RestFormat::json},
        {"a.b.hex", "a.b", RestFormat::hex},
        {"a.hex/b", "a.hex/b", RestFormat::none},
        {"%2e.bin", "%2e", RestFormat::binary},
    };
    for (const Case& c : kCases) {
        CAPTURE(c.text);
        const RestTarget target = parse_rest_target(c.text);
        CHECK(target.parameter == c.parameter);
        CHECK(target.format == c.format);
    }
}

TEST_CASE("parts are what stands between slashes, empty ones too") {
    using Parts = std::vector<std::string_view>;
    CHECK(RestTarget{.parameter = ""}.parts() == Parts{""});
    CHECK(RestTarget{.parameter = "a"}.parts() == Parts{"a"});
    CHECK(RestTarget{.parameter = "a/b/"}.parts() == Parts{"a", "b", ""});
    CHECK(RestTarget{.parameter = "//"}.parts() == Parts{"", "", ""});
}

TEST_CASE("a query is read as libevent reads it") {
    struct Case {
        const char* target;
        std::optional<std::string> value;
        bool malformed = false;
    };
    const Case kCases[] = {
        {"/a?count=3", "3"},
        {"/a?x=1&count=3", "3"},
        {"/a?count=3&count=4", "3"},
        {"/a?count=", ""},
        {"/a?count=a+b%20c%2", std::nullopt, true},
        {"/a?count=a+b%20c%2B", "a b c+"},
        {"/a?count=1%00", "1"},
        {"/a?Count=3", std::nullopt},
        {"/a?co%75nt=3", std::nullopt},
        {"/a?count=3&", "3"},
        {"/a?count=3&&x=1", std::nullopt},
        {"/a?count=3&x", std::nullopt},
        {"/a?=1&count=3", std::nullopt},
        {"/a?count=1=2", "1=2"},
        {"/a?count=3#x", "3"},
        {"/a?count=3#x#y", std::nullopt, true},
        {"/a?x=1?count=3", std::nullopt},
        {"/a", std::nullopt},
        {"/a?count=<", std::nullopt, true},
        {"/a\"?count=3", std::nullopt, true},
        {"/a%zz?count=3", std::nullopt, true},
        {"/a?count=\xc3\xa9", std::nullopt, true},
    };
    for (const Case& c : kCases) {
        CAPTURE(c.target);
        const QueryValue found = query_value(c.target, "count");
        CHECK(found.malformed == c.malformed);
        CHECK((found.value == c.value));
    }
}

TEST_CASE("numbers are whole, plain and in range") {
    CHECK(to_integer<std::int32_t>("-1") == -1);
    CHECK(to_integer<std::int32_t>("0005") == 5);
    CHECK(to_integer<std::size_t>("18446744073709551615") == SIZE_MAX);
    for (const char* text : {"", " 1", "1 ", "+1", "-1", "1.0", "0x1", "18446744073709551616"}) {
        CAPTURE(text);
        CHECK_FALSE(to_integer<std::size_t>(text));
    }
}

TEST_SUITE_END();
