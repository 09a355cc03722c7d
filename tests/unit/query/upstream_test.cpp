// SPDX-License-Identifier: MIT
#include "query/http_reply.hpp"
#include "query/rpc_auth.hpp"
#include "query/upstream_answer.hpp"
#include "query/upstream_url.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace blockpub;

TEST_SUITE_BEGIN("query.http_reply");

namespace {

constexpr std::size_t kMaxBody = 20;

/// `status body`, or the error, of a stream fed in pieces of `piece` bytes that ends with the connection.
std::string decoded(std::string_view stream, std::size_t piece) {
    HttpReplyDecoder decoder(kMaxBody);
    while (decoder.state() == HttpReplyDecoder::State::more && !stream.empty()) {
        decoder.feed(stream.substr(0, piece));
        stream.remove_prefix(std::min(piece, stream.size()));
    }
    if (decoder.state() == HttpReplyDecoder::State::more) decoder.finish();
    if (decoder.state() == HttpReplyDecoder::State::failed) return decoder.error();
    return std::to_string(decoder.status()) + ' ' + decoder.body();
}

}  // namespace

TEST_CASE("a reply is the same in whatever pieces it arrives") {
    struct Case {
        const char* name;
        std::string stream;
        const char* result;
    };
    const Case cases[] = {
        {"a length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "200 hello"},
        {"bytes behind the body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello, you", "200 hello"},
        {"no body", "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", "401 "},
        {"bare line feeds", "HTTP/1.0 500 Internal Server Error\nContent-Length: 2\n\nno", "500 no"},
        {"no reason", "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", "200 ok"},
        {"up to the end", "HTTP/1.1 200 OK\r\n\r\nall of it", "200 all of it"},
        {"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\n\r\n",
         "200 abcde"},
        {"nothing may follow", "HTTP/1.1 204 No Content\r\n\r\nx", "204 "},
        {"an interim reply", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
         "200 x"},
        {"nothing at all", "", "it closed the connection without a reply"},
        {"a cut head", "HTTP/1.1 200 OK\r\nContent-Le", "its reply ended early"},
        {"a cut body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", "its reply ended early"},
        {"cut chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
         "its reply ended early"},
        {"another protocol", "SSH-2.0\r\n\r\n", "its reply is not HTTP"},
        {"a status of two digits", "HTTP/1.1 20 OK\r\n\r\n", "its reply is not HTTP"},
        {"a status below 100", "HTTP/1.1 099 OK\r\n\r\n", "its reply is not HTTP"},
        {"another version", "HTTP/2 200 OK\r\n\r\n", "its reply is not HTTP"},
        {"a body that is too long", "HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n",
         "its reply is too large"},
        {"chunks that are too long", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n15\r\n",
         "its reply is too large"},
        {"too much up to the end", "HTTP/1.1 200 OK\r\n\r\n123456789012345678901", "its reply is too large"},
        {"bad chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
         "the chunks of its reply are malformed"},
        {"a head without end", "HTTP/1.1 200 OK\r\n" + std::string(10'000, 'x'),
         "the head of its reply is too long"},
    };
    for (const Case& c : cases) {
        CAPTURE(c.name);
        CHECK(decoded(c.stream, c.stream.size() + 1) == c.result);
        CHECK(decoded(c.stream, 1) == c.result);
        CHECK(decoded(c.stream, 7) == c.result);
    }
    const auto malformed = [](const std::string& field) {
        return decoded("HTTP/1.1 200 OK\r\n" + field + "\r\n\r\nhello", 1000);
    };
    for (const char* field : {"Content-Length: 5\r\nContent-Length: 6", "Content-Length: -5",
                              "Content-Length: 5\r\nTransfer-Encoding: chunked", "Content-Length : 5"}) {
        CAPTURE(field);
        CHECK(malformed(field).starts_with("the head of its reply is malformed: "));
    }
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("query.upstream_answer");

namespace {

/// The result, `error` and the error object, or why it is no answer.
std::string answer_of(const std::string& body) {
    const auto answer = decode_upstream_answer(body, "me");
    if (!answer) return answer.error().context;
    if (!answer->error.empty()) return "error " + std::to_string(answer->code) + ' ' + answer->error;
    return answer->result;
}

}  // namespace

TEST_CASE("result and error are taken as they were written") {
    CHECK(answer_of(R"({"result":1.00000000,"error":null,"id":"me"})") == "1.00000000");
    CHECK(answer_of(" { \"id\" : \"me\" , \"result\" : {\"a\" : [1, \"}\\\"\", []] }\n}\n") ==
          R"({"a" : [1, "}\"", []] })");
    CHECK(answer_of(R"({"result":null,"id":"me"})") == "null");
    CHECK(answer_of(R"({"x":{"result":1},"result":"\u00e9","id":"\u006de"})") == R"("\u00e9")");
    CHECK(answer_of(R"({"result":null,"error":{"message":"no" ,"code":-5},"id":"me"})") ==
          R"(error -5 {"message":"no" ,"code":-5})");
    CHECK(answer_of(R"({"error":{"code":-32700},"id":null})") == R"(error -32700 {"code":-32700})");
}

TEST_CASE("what is no answer is told from one") {
    struct Case {
        const char* body;
        const char* reason;
    };
    static constexpr Case kCases[] = {
        {"", "its reply is not JSON"},
        {"{\"result\":1", "its reply is not JSON"},
        {"[]", "its reply is not JSON-RPC"},
        {"{}", "its reply is not JSON-RPC"},
        {R"({"id":"me"})", "its reply is not JSON-RPC"},
        {R"({"result":1,"id":"you"})", "it answers another call"},
        {R"({"result":1,"id":null})", "it answers another call"},
        {R"({"error":{"code":1},"id":7})", "it answers another call"},
        {R"({"error":"no","id":"me"})", "its error is not one of JSON-RPC"},
        {R"({"error":{"message":"no"},"id":"me"})", "its error is not one of JSON-RPC"},
        {R"({"error":{"code":1.5},"id":"me"})", "its error is not one of JSON-RPC"},
        {R"({"error":{"code":2147483648},"id":"me"})", "its error is not one of JSON-RPC"},
        {R"({"\u0065rror":{"code":1},"error":null,"id":"me"})", "its error is not one of JSON-RPC"},
        {R"({"r\u0065sult":1,"id":"me"})", "its reply is not JSON-RPC"},
    };
    for (const Case& c : kCases) {
        CAPTURE(c.body);
        CHECK(answer_of(c.body) == c.reason);
    }
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("query.upstream_url");

TEST_CASE("an address is taken apart, and shown without its password") {
    struct Case {
        const char* text;
        const char* shown;
        const char* login;
    };
    static constexpr Case kCases[] = {
        {"http://127.0.0.1", "http://127.0.0.1:8332", ""},
        {"HTTP://localhost:1/", "http://localhost:1", ""},
        {"http://u:p@node.example:18443", "http://node.example:18443", "u:p"},
        {"http://u:@[::1]:5", "http://[::1]:5", "u:"},
        {"http://u:p:q%40%2f@[::1]/wallet/x", "http://[::1]:8332/wallet/x", "u:p:q@/"},
        {"http://u:p@ss/word@host", "http://host:8332", "u:p@ss/word"},
    };
    for (const Case& c : kCases) {
        CAPTURE(c.text);
        const auto url = parse_upstream_url(c.text, 8332);
        REQUIRE(url);
        CHECK(url->shown() == c.shown);
        CHECK(url->login.value_or("") == c.login);
    }
    CHECK(parse_upstream_url("http://localhost", 1)->is_loopback());
    CHECK(parse_upstream_url("http://[::1]", 1)->is_loopback());
    CHECK_FALSE(parse_upstream_url("http://10.0.0.1", 1)->is_loopback());
}

TEST_CASE("an address that is none is refused without a word of it") {
    for (const char* text : {"",
                             "secret",
                             "https://secret",
                             "http://",
                             "http://:1",
                             "http://secret@host",
                             "http://:secret@host",
                             "http://u%3a:secret@host",
                             "http://u:secret%@host",
                             "http://u:secret%zz@host",
                             "http://host:0",
                             "http://host:65536",
                             "http://host:1x",
                             "http://host:",
                             "http://ho st",
                             "http://[::1",
                             "http://[x]",
                             "http://[::1]x",
                             "http://host/a b",
                             "http://host/\r\nX: y",
                             "http://ho\nst"}) {
        CAPTURE(text);
        const auto url = parse_upstream_url(text, 8332);
        REQUIRE_FALSE(url);
        CHECK(url.error().code == Errc::invalid_argument);
        CHECK(url.error().context.find("secret") == std::string::npos);
    }
}

TEST_CASE("base64 is what is decoded from it") {
    for (const char* text : {"", "a", "ab", "abc", "user:password", "\xff\xfe\x00\x01"})
        CHECK(decode_base64(encode_base64(text)) == text);
    CHECK(encode_base64("Aladdin:open sesame") == "QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
}

TEST_SUITE_END();
