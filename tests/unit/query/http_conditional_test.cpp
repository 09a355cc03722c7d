// SPDX-License-Identifier: MIT
#include "query/http_conditional.hpp"

#include "unit/query/reply_body.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>

using namespace blockpub;
using namespace blockpub::test;

namespace {

using Kind = RangeWish::Kind;

/// Ten bytes, `0123456789`, of four kinds of pieces.
HttpResponse ten_bytes() {
    const auto bytes_of = [](std::string_view text) {
        return ByteSpan(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    };
    HttpResponse response;
    response.text = "01";
    const auto mapped = std::make_shared<const SharedBytes>(SharedBytes::copy_of(bytes_of("567")));
    response.pieces = {SharedBytes::copy_of(bytes_of("234")), MappedBytes(mapped->bytes(), mapped),
                       std::string("89")};
    response.entity_tag = "tag";
    response.takes_ranges = true;
    return response;
}

HttpResponse answered(const std::string& fields, const std::string& method = "GET") {
    std::string text = method + " / HTTP/1.1\r\n" + fields + "\r\n";
    HttpHead head;
    REQUIRE(parse_http_head(text, head));
    HttpResponse response = ten_bytes();
    apply_conditions(head, response);
    return response;
}

}  // namespace

TEST_SUITE_BEGIN("query.http_conditional");

TEST_CASE("a range is read as RFC 9110 has it, and what is not one asks for the whole") {
    struct Case {
        const char* value;
        std::uint64_t size;
        Kind kind;
        std::uint64_t first = 0;
        std::uint64_t last = 0;
    };
    static constexpr Case kCases[] = {
        {"bytes=0-0", 10, Kind::part, 0, 0},
        {"bytes=2-5", 10, Kind::part, 2, 5},
        {"bytes=2-", 10, Kind::part, 2, 9},
        {"bytes=2-100", 10, Kind::part, 2, 9},
        {"bytes=9-99999999999999999999999", 10, Kind::part, 9, 9},
        {"bytes=-3", 10, Kind::part, 7, 9},
        {"bytes=-100", 10, Kind::part, 0, 9},
        {"BYTES = 2-5 ", 10, Kind::part, 2, 5},
        {"bytes=10-", 10, Kind::unsatisfiable},
        {"bytes=99999999999999999999999-", 10, Kind::unsatisfiable},
        {"bytes=-0", 10, Kind::unsatisfiable},
        {"bytes=0-", 0, Kind::unsatisfiable},
        {"bytes=-1", 0, Kind::unsatisfiable},
        {"bytes=5-2", 10, Kind::whole},
        {"bytes=0-1,3-4", 10, Kind::whole},
        {"bytes=", 10, Kind::whole},
        {"bytes=-", 10, Kind::whole},
        {"bytes=a-b", 10, Kind::whole},
        {"bytes=1-2x", 10, Kind::whole},
        {"bytes=+1-2", 10, Kind::whole},
        {"items=0-1", 10, Kind::whole},
        {"0-1", 10, Kind::whole},
        {"", 10, Kind::whole},
    };
    for (const Case& c : kCases) {
        CAPTURE(c.value);
        const RangeWish wish = parse_range(c.value, c.size);
        CHECK(wish.kind == c.kind);
        CHECK(wish.range.first == c.first);
        CHECK(wish.range.last == c.last);
    }
}

TEST_CASE("tags are compared whole, weak ones too, and a star is every tag") {
    CHECK(names_entity_tag("\"tag\"", "tag"));
    CHECK(names_entity_tag("\"a\", W/\"tag\" ,\"b\"", "tag"));
    CHECK(names_entity_tag(" * ", "tag"));
    for (const char* other : {"", "tag", "\"ta\"", "\"tagg\"", "\"tag", "\"a\",", "\"TAG\""}) {
        CAPTURE(other);
        CHECK_FALSE(names_entity_tag(other, "tag"));
    }
}

TEST_CASE("an answer that never changes says so") {
    const HttpResponse response = answered("");
    CHECK(response.status == 200);
    CHECK(body_of(response) == "0123456789");
    CHECK(response.fields ==
          "ETag: \"tag\"\r\nCache-Control: public, max-age=31536000, immutable\r\n"
          "Accept-Ranges: bytes\r\n");
}

TEST_CASE("who has it already is told so, without the bytes") {
    for (const char* method : {"GET", "HEAD"}) {
        const HttpResponse response =
            answered("If-None-Match: \"x\", \"tag\"\r\nRange: bytes=0-1\r\n", method);
        CHECK(response.status == 304);
        CHECK(response.body_size() == 0);
        CHECK(response.fields.starts_with("ETag: \"tag\"\r\n"));
    }
    CHECK(answered("If-None-Match: \"x\"\r\n").status == 200);
    CHECK(answered("If-None-Match: \"tag\"\r\n", "POST").status == 200);
}

TEST_CASE("every range of the pieces is cut out of them") {
    for (unsigned first = 0; first < 10; ++first) {
        for (unsigned last = first; last < 10; ++last) {
            const std::string range = std::to_string(first) + "-" + std::to_string(last);
            CAPTURE(range);
            const HttpResponse response = answered("Range: bytes=" + range + "\r\n");
            CHECK(response.status == 206);
            CHECK(body_of(response) == std::string("0123456789").substr(first, last - first + 1));
            CHECK(response.fields.ends_with("Content-Range: bytes " + range + "/10\r\n"));
        }
    }
}

TEST_CASE("a range beyond the body is told the size") {
    const HttpResponse response = answered("Range: bytes=10-\r\n");
    CHECK(response.status == 416);
    CHECK(response.body_size() == 0);
    CHECK(response.fields.ends_with("Content-Range: bytes */10\r\n"));
}

TEST_CASE("If-Range asks for the part only of what the client knows") {
    CHECK(answered("Range: bytes=0-1\r\nIf-Range: \"tag\"\r\n").status == 206);
    for (const char* other : {"\"other\"", "*", "Sun, 06 Nov 1994 08:49:37 GMT"}) {
        CAPTURE(other);
        CHECK(answered("Range: bytes=0-1\r\nIf-Range: " + std::string(other) + "\r\n").status == 200);
    }
    CHECK(answered("Range: bytes=0-1\r\n", "HEAD").status == 200);
}

TEST_SUITE_END();
