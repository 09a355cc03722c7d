// SPDX-License-Identifier: MIT
#include "query/http_head.hpp"

#include "query/http_chunks.hpp"
#include "query/http_message.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace blockpub;

TEST_SUITE_BEGIN("query.http_head");

TEST_CASE("the end of a head is found wherever the bytes are cut") {
    static constexpr std::string_view kHeads[] = {
        "GET / HTTP/1.1\r\nA: b\r\n\r\n",
        "GET / HTTP/1.1\nA: b\n\n",
        "GET / HTTP/1.0\r\n\n",
        "GET / HTTP/1.0\n\r\n",
    };
    for (const std::string_view head : kHeads) {
        CAPTURE(head);
        const std::string stream = std::string(head) + "body\n\n";
        std::size_t scanned = 0;
        for (std::size_t size = 0; size < head.size(); ++size)
            REQUIRE_FALSE(find_head_end(stream.substr(0, size), scanned));
        for (std::size_t size = head.size(); size <= stream.size(); ++size) {
            std::size_t from = scanned;
            CHECK(find_head_end(stream.substr(0, size), from) == head.size());
        }
    }
}

TEST_CASE("fields are found in any case, the first of a name first") {
    std::string text = "POST /a?b=c HTTP/1.1\r\nX-One:  1 \r\nx-two: a b\r\nX-ONE: 3\r\nEmpty:\r\n\r\n";
    HttpHead head;
    REQUIRE(parse_http_head(text, head));
    CHECK(head.method == "POST");
    CHECK(head.target == "/a?b=c");
    CHECK(head.field("x-one") == "1");
    CHECK(head.field("X-Two") == "a b");
    CHECK(head.field("empty") == "");
    CHECK_FALSE(head.field("none"));
    CHECK(head.framing == HttpHead::Framing::none);
}

TEST_CASE("a folded field is one line of spaces") {
    std::string text = "GET / HTTP/1.1\r\nAuthorization: Basic\r\n\tabc\n def\r\nB: c\r\n\r\n";
    HttpHead head;
    REQUIRE(parse_http_head(text, head));
    CHECK(head.field("authorization") == "Basic  \tabc  def");
    CHECK(head.field("b") == "c");
}

TEST_CASE("a fold in the request line or in a name is refused") {
    for (std::string text : {"GET /\r\n  HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\n A: b\r\n\r\n",
                             "GET / HTTP/1.1\r\nNa\r\n me: b\r\n\r\n"}) {
        CAPTURE(text);
        HttpHead head;
        CHECK_FALSE(parse_http_head(text, head));
    }
}

TEST_CASE("a chunked body may come in any pieces") {
    const std::string coded =
        "4\r\nWiki\r\n6;name=\"value\"\r\npedia \r\nE\r\nin \r\n\r\nchunks.\r\n0\r\nTrailer: x\r\n\r\nrest";
    for (std::size_t piece = 1; piece <= coded.size(); ++piece) {
        CAPTURE(piece);
        ChunkDecoder decoder(100);
        std::string body;
        std::string_view rest = coded;
        auto state = ChunkDecoder::State::more;
        std::string_view left;
        while (state == ChunkDecoder::State::more && !rest.empty()) {
            left = rest.substr(0, piece);
            rest.remove_prefix(left.size());
            state = decoder.feed(left, &body);
        }
        CHECK(state == ChunkDecoder::State::done);
        CHECK(body == "Wikipedia in \r\n\r\nchunks.");
        CHECK(std::string(left) + std::string(rest) == "rest");
        CHECK(decoder.size() == body.size());
    }
}

TEST_CASE("chunks that are wrong, or too large together, are told from each other") {
    struct Case {
        const char* coded;
        ChunkDecoder::State state;
    };
    using enum ChunkDecoder::State;
    static constexpr Case kCases[] = {
        {"a\r\n0123456789\r\n1\r\n", too_large},
        {"b\r\n", too_large},
        {"ffffffffffffffff\r\n", too_large},
        {"\r\n", malformed},
        {"g\r\n", malformed},
        {"1\rx", malformed},
        {"1\r\nab", malformed},
        {"1\r\na\rx", malformed},
        {"-1\r\n", malformed},
        {"0\r\n\rx", malformed},
        {"1\n", more},
        {"0\r\n", more},
    };
    for (const Case& c : kCases) {
        CAPTURE(c.coded);
        ChunkDecoder decoder(10);
        std::string body;
        std::string_view input = c.coded;
        CHECK(decoder.feed(input, &body) == c.state);
    }
    ChunkDecoder decoder(10);
    const std::string endless = "1;" + std::string(10'000, 'x');
    std::string_view input = endless;
    CHECK(decoder.feed(input, nullptr) == malformed);
}

TEST_CASE("dates are those of RFC 9110") {
    CHECK(http_date(784111777) == "Sun, 06 Nov 1994 08:49:37 GMT");
    CHECK(http_date(0) == "Thu, 01 Jan 1970 00:00:00 GMT");
}

TEST_CASE("a reply's head depends on what the request was") {
    struct Case {
        const char* name;
        const char* request;
        HttpResponse response;
        const char* head;
    };
    const Case kCases[] = {
        {"plain 404",
         "GET / HTTP/1.1\n\n",
         {.status = 404},
         "HTTP/1.1 404 Not Found\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Length: "
         "0\r\nContent-Type: text/html; charset=ISO-8859-1\r\n\r\n"},
        {"no content",
         "POST / HTTP/1.1\n\n",
         {.status = 204},
         "HTTP/1.1 204 No Content\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\n"},
        {"unauthorized",
         "POST / HTTP/1.1\n\n",
         {.status = 401, .fields = "WWW-Authenticate: Basic realm=\"jsonrpc\"\r\n"},
         "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"jsonrpc\"\r\nDate: Thu, 01 Jan 1970 "
         "00:00:00 GMT\r\n"
         "Content-Length: 0\r\nContent-Type: text/html; charset=ISO-8859-1\r\n\r\n"},
        {"1.0 kept",
         "POST / HTTP/1.0\nConnection: keep-alive\n\n",
         {.content_type = "application/json", .text = "x"},
         "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\nConnection: keep-alive\r\nContent-Length: "
         "1\r\n\r\n"},
        {"1.0 closed by the server",
         "POST / HTTP/1.0\nConnection: keep-alive\n\n",
         {.content_type = "application/json", .text = "x", .close = true},
         "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1\r\nConnection: "
         "close\r\n\r\n"},
    };
    for (const Case& c : kCases) {
        CAPTURE(c.name);
        std::string text = c.request;
        HttpHead head;
        REQUIRE(parse_http_head(text, head));
        std::string out;
        append_response_head(out, c.response, head, 0);
        CHECK(out == c.head);
    }
}

TEST_SUITE_END();
