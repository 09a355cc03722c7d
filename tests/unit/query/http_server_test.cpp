// SPDX-License-Identifier: MIT
#include "query/http_server.hpp"

#include "unit/query/raw_client.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;
using namespace std::chrono_literals;

namespace {

/// Answers with what it was asked; some paths do something special.
class EchoService final : public HttpService {
 public:
    std::optional<HttpRefusal> admit(HttpRequest& request) override {
        ++admitted;
        if (request.head.field("authorization")) request.user = "somebody";
        if (request.head.target == "/refused") return HttpRefusal{.response = {.status = 401, .text = "no"}};
        if (request.head.target == "/refused-late")
            return HttpRefusal{.response = {.status = 401, .text = "no"}, .delay = 50ms};
        if (request.head.target == "/throws") throw std::runtime_error("thrown");
        return std::nullopt;
    }
    HttpAnswer answer(HttpRequest& request) override {
        if (request.head.target == "/chain" || request.head.target == "/wait") {
            const Lane lane = request.head.target == "/chain" ? Lane::chain : Lane::wait;
            return HttpJob{lane, [this, body = request.body] {
                               entered.release();
                               gate.acquire();
                               return text("job " + body);
                           }};
        }
        if (request.head.target == "/until-departed") {
            return HttpJob{Lane::wait, [this, &request] {
                               CHECK_FALSE(request.departed());
                               entered.release();
                               while (!request.departed()) std::this_thread::yield();
                               left.release();
                               return text("nobody reads this");
                           }};
        }
        if (request.head.target == "/large") return large;
        if (request.head.target == "/counted") {
            return HttpJob{.lane = Lane::here,
                           .run =
                               [this] {
                                   ++made;
                                   return text(std::string(1 << 20, 'x'));
                               },
                           .reply_bytes = 1 << 20};
        }
        // Taken, as JSON-RPC takes it: the next body begins without memory.
        const std::string body = std::move(request.body);
        return text(fmt::format("{} {} [{}]", request.head.method, request.head.target, body));
    }
    static HttpResponse text(std::string body) {
        return {.content_type = "text/plain", .text = std::move(body)};
    }

    std::atomic<int> admitted{0};
    std::atomic<int> made{0};
    std::counting_semaphore<> entered{0};
    std::counting_semaphore<> gate{0};
    std::counting_semaphore<> left{0};
    HttpResponse large;
};

struct Fixture {
    explicit Fixture(HttpServerOptions options = {}) {
        options.endpoints = {{.host = "127.0.0.1"}};
        auto listening = HttpServer::listen(std::move(options), service, logger);
        REQUIRE(listening.has_value());
        server = std::move(*listening);
        server->start();
    }
    [[nodiscard]] RawClient client() const { return RawClient(server->port()); }

    NullLogger logger;
    EchoService service;
    std::unique_ptr<HttpServer> server;
};

std::string post(std::string_view path, std::string_view body, std::string_view fields = "") {
    return fmt::format("POST {} HTTP/1.1\r\nHost: x\r\n{}Content-Length: {}\r\n\r\n{}", path, fields,
                       body.size(), body);
}

constexpr const char* kPassword = "Authorization: x\r\n";  // what EchoService takes for one

}  // namespace

TEST_SUITE_BEGIN("query.http_server");

TEST_CASE("a reply has the fields, the order and the spelling that bitcoind's clients know") {
    Fixture fixture;
    auto client = fixture.client();
    REQUIRE(client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"));
    const auto reply = client.reply();
    REQUIRE(reply);
    CHECK(reply->status_line == "HTTP/1.1 200 OK");
    const std::string date = reply->field("Date");
    CHECK(date.size() == 29);
    CHECK(date.ends_with(" GMT"));
    CHECK(reply->head ==
          "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nDate: " + date + "\r\nContent-Length: 11\r\n\r\n");
    CHECK(reply->body == "POST / [hi]");
}

TEST_CASE("hand-written requests are understood") {
    struct Case {
        const char* name;
        const char* request;
        const char* body;
    };
    static constexpr Case kCases[] = {
        {"bare line feeds", "POST /a HTTP/1.1\nContent-Length: 2\n\nhi", "POST /a [hi]"},
        {"no Host", "GET /a HTTP/1.1\r\n\r\n", "GET /a []"},
        {"HTTP/1.0 without any field", "GET /a HTTP/1.0\r\n\r\n", "GET /a []"},
        {"HTTP/1.0 with bare line feeds", "POST / HTTP/1.0\nContent-Length: 3\n\nabc", "POST / [abc]"},
        {"an empty line before it", "\r\n\nGET /a HTTP/1.1\r\n\r\n", "GET /a []"},
        {"an absolute target", "GET http://node.example:8332/a HTTP/1.1\r\n\r\n", "GET /a []"},
        {"a folded field", "GET /a HTTP/1.1\r\nX-Long: one\r\n two\r\n\r\n", "GET /a []"},
        {"blanks around a value", "POST / HTTP/1.1\r\nContent-Length:   2  \r\n\r\nhi", "POST / [hi]"},
        {"names in another case", "POST / HTTP/1.1\r\ncONTENT-lENGTH: 2\r\n\r\nhi", "POST / [hi]"},
        {"the same length twice", "POST / HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi",
         "POST / [hi]"},
        {"chunks",
         "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
         "POST / [abcde]"},
        {"chunks with bare line feeds and a trailer",
         "POST / HTTP/1.1\nTransfer-Encoding: Chunked\n\n5\nhello\n0\nX-Sum: 1\n\n", "POST / [hello]"},
        {"a body without a use", "GET /a HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi", "GET /a [hi]"},
    };
    Fixture fixture;
    for (const Case& c : kCases) {
        CAPTURE(c.name);
        auto client = fixture.client();
        REQUIRE(client.send(c.request));
        const auto reply = client.reply();
        REQUIRE(reply);
        CHECK(reply->status() == 200);
        CHECK(reply->body == c.body);
    }
}

TEST_CASE("what leaves it open where a body ends is refused and the connection ends") {
    struct Case {
        const char* name;
        std::string request;
        int status;
    };
    const Case kCases[] = {
        {"both lengths",
         "POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
        {"both lengths, the other way round",
         "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", 400},
        {"lengths that differ", "POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400},
        {"a list of lengths", "POST / HTTP/1.1\r\nContent-Length: 3, 3\r\n\r\nabc", 400},
        {"a signed length", "POST / HTTP/1.1\r\nContent-Length: +3\r\n\r\nabc", 400},
        {"a folded length", "POST / HTTP/1.1\r\nContent-Length: 3\r\n 0\r\n\r\nabc", 400},
        {"a blank before the colon", "POST / HTTP/1.1\r\nContent-Length : 3\r\n\r\nabc", 400},
        {"another coding", "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501},
        {"a chunk size that is none", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400},
        {"a chunk longer than it said", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
         400},
        {"a chunk beyond the limit", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2000001\r\n", 413},
        {"a chunk size beyond 64 bits",
         "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n11111111111111111\r\n", 413},
        {"a length beyond the limit", "POST / HTTP/1.1\r\nContent-Length: 33554433\r\n\r\n", 413},
        {"a length beyond 64 bits", "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n",
         413},
        {"a head beyond the limit", "POST / HTTP/1.1\r\nX: " + std::string(9000, 'x') + "\r\n\r\n", 400},
        {"a head beyond the limit without an end", "POST / HTTP/1.1\r\nX: " + std::string(20000, 'x'), 400},
        {"a request line beyond the limit", "GET /" + std::string(20000, 'x'), 400},
        {"garbage", "\x16\x03\x01\x02\x00 garbage\r\n\r\n", 400},
        {"no version", "GET /\r\n\r\n", 400},
        {"another protocol", "GET / SPDY/3\r\n\r\n", 400},
        {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
        {"a field without a colon", "GET / HTTP/1.1\r\nnonsense\r\n\r\n", 400},
        {"a NUL in a field", std::string("GET / HTTP/1.1\r\nX: a\0b\r\n\r\n", 26), 400},
        {"a return within a field", "GET / HTTP/1.1\r\nX: a\rb\r\n\r\n", 400},
        {"a method not known", "BREW / HTTP/1.1\r\n\r\n", 501},
        {"an expectation not known", "POST / HTTP/1.1\r\nExpect: the-worst\r\nContent-Length: 1\r\n\r\nx",
         417},
    };
    Fixture fixture;
    for (const Case& c : kCases) {
        CAPTURE(c.name);
        auto client = fixture.client();
        // What follows must not be taken for a request.
        client.send(c.request + "GET /smuggled HTTP/1.1\r\n\r\n");
        client.end_of_stream();
        const auto reply = client.reply();
        REQUIRE(reply);
        CHECK(reply->status() == c.status);
        CHECK(reply->field("Connection") == "close");
        CHECK(client.rest() == "");
    }
    CHECK(fixture.server->status().malformed == std::size(kCases));
}

TEST_CASE("two thousand pipelined requests in one write are answered in order") {
    Fixture fixture;
    auto client = fixture.client();
    std::string all;
    for (int i = 0; i < 2000; ++i) all += post(fmt::format("/{}", i), std::to_string(i));
    std::thread sender([&] { client.send(all); });
    for (int i = 0; i < 2000; ++i) {
        const auto reply = client.reply();
        REQUIRE(reply);
        REQUIRE(reply->body == fmt::format("POST /{0} [{0}]", i));
    }
    sender.join();
}

TEST_CASE("bodies of every length in one write end where they end, wherever what was read is cut") {
    Fixture fixture;
    auto client = fixture.client();
    std::string all;
    for (std::size_t size = 1; size <= 800; ++size) all += post("/", std::string(size, 'a'));
    std::thread sender([&] { client.send(all); });
    std::size_t answered = 0;
    for (std::size_t size = 1; size <= 800; ++size) {
        const auto reply = client.reply();
        if (!reply || reply->body != "POST / [" + std::string(size, 'a') + "]") break;
        ++answered;
    }
    sender.join();
    CHECK(answered == 800);
}

TEST_CASE("requests sent ahead wait behind one that takes time, and keep their order") {
    Fixture fixture;
    auto client = fixture.client();
    REQUIRE(client.send(post("/1", "a") + post("/chain", "b") + post("/3", "c")));
    CHECK(client.reply()->body == "POST /1 [a]");
    fixture.service.entered.acquire();
    CHECK_FALSE(client.readable(20));
    fixture.service.gate.release();
    CHECK(client.reply()->body == "job b");
    CHECK(client.reply()->body == "POST /3 [c]");
}

TEST_CASE("requests are answered while as many as can wait for the chain do so") {
    HttpServerOptions options;
    options.threads = 1;
    options.chain_threads = 2;
    Fixture fixture(std::move(options));
    std::vector<std::unique_ptr<RawClient>> waiting;
    for (int i = 0; i < 5; ++i) {
        waiting.push_back(std::make_unique<RawClient>(fixture.server->port()));
        REQUIRE(waiting.back()->send(post("/chain", std::to_string(i))));
    }
    fixture.service.entered.acquire();
    fixture.service.entered.acquire();
    auto client = fixture.client();
    REQUIRE(client.send(post("/now", "")));
    CHECK(client.reply()->body == "POST /now []");
    auto other = fixture.client();
    REQUIRE(other.send(post("/wait", "w")));
    fixture.service.entered.acquire();  // another lane has threads of its own
    fixture.service.gate.release(6);
    CHECK(other.reply()->body == "job w");
    for (int i = 0; i < 5; ++i)
        CHECK(waiting[static_cast<std::size_t>(i)]->reply()->body == fmt::format("job {}", i));
}

TEST_CASE("Expect: 100-continue is answered before the body comes") {
    Fixture fixture;
    auto client = fixture.client();
    REQUIRE(client.send("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
    const auto interim = client.reply(false);
    REQUIRE(interim);
    CHECK(interim->head == "HTTP/1.1 100 Continue\r\n\r\n");
    REQUIRE(client.send("hi"));
    CHECK(client.reply()->body == "POST / [hi]");
}

TEST_CASE("a refused request with Expect gets no 100, and the connection ends") {
    Fixture fixture;
    auto client = fixture.client();
    REQUIRE(client.send("POST /refused HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
    const auto reply = client.reply();
    REQUIRE(reply);
    CHECK(reply->status() == 401);
    CHECK(reply->field("Connection") == "close");
    CHECK(client.ended());
}

TEST_CASE("a refused request leaves the connection usable when its body is small") {
    Fixture fixture;
    auto client = fixture.client();
    for (const char* path : {"/refused", "/refused-late"}) {
        REQUIRE(client.send(post(path, std::string(100'000, 'x')) + post("/after", "a")));
        const auto reply = client.reply();
        REQUIRE(reply);
        CHECK(reply->status() == 401);
        CHECK(client.reply()->body == "POST /after [a]");
    }
    REQUIRE(client.send("POST /refused HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" +
                        post("/after", "b")));
    CHECK(client.reply()->status() == 401);
    CHECK(client.reply()->body == "POST /after [b]");
}

TEST_CASE("a refused request with a large body ends the connection without taking the body") {
    Fixture fixture;
    auto client = fixture.client();
    REQUIRE(client.send("POST /refused HTTP/1.1\r\nContent-Length: 30000000\r\n\r\n"));
    const auto reply = client.reply();
    REQUIRE(reply);
    CHECK(reply->status() == 401);
    CHECK(reply->field("Connection") == "close");
}

TEST_CASE("the connection is kept or closed as the client wishes") {
    struct Case {
        const char* name;
        const char* request;
        const char* connection;  // field of the reply
        bool kept;
    };
    static constexpr Case kCases[] = {
        {"1.1", "GET / HTTP/1.1\r\n\r\n", "", true},
        {"1.1 close", "GET / HTTP/1.1\r\nConnection: close\r\n\r\n", "close", false},
        {"1.1 close in a list", "GET / HTTP/1.1\r\nConnection: foo, Close\r\n\r\n", "close", false},
        {"1.0", "GET / HTTP/1.0\r\n\r\n", "", false},
        {"1.0 keep-alive", "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "keep-alive", true},
    };
    Fixture fixture;
    for (const Case& c : kCases) {
        CAPTURE(c.name);
        auto client = fixture.client();
        REQUIRE(client.send(c.request));
        const auto reply = client.reply();
        REQUIRE(reply);
        CHECK(reply->field("Connection") == c.connection);
        CHECK(reply->has_field("Content-Length"));
        if (c.kept) {
            REQUIRE(client.send(c.request));
            CHECK(client.reply());
        } else {
            CHECK(client.ended());
        }
    }
}

TEST_CASE("HEAD has no body, and 1.0 no date") {
    Fixture fixture;
    auto client = fixture.client();
    REQUIRE(client.send("HEAD /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n"));
    const auto head = client.reply(false);
    REQUIRE(head);
    CHECK(head->status() == 200);
    CHECK(head->field("Content-Length") == "10");
    CHECK(client.reply()->body == "GET /b []");
    auto old = fixture.client();
    REQUIRE(old.send("GET / HTTP/1.0\r\n\r\n"));
    const auto reply = old.reply();
    CHECK(reply->status_line == "HTTP/1.0 200 OK");
    CHECK_FALSE(reply->has_field("Date"));
}

TEST_CASE("a client that ends its stream behind a request gets the reply") {
    Fixture fixture;
    auto client = fixture.client();
    REQUIRE(client.send(post("/last", "x")));
    client.end_of_stream();
    CHECK(client.reply()->body == "POST /last [x]");
    CHECK(client.ended());
}

TEST_CASE("a request that comes byte by byte is answered") {
    Fixture fixture;
    auto client = fixture.client();
    const std::string request = post("/slow", "body");
    for (const char& byte : request) REQUIRE(client.send({&byte, 1}));
    CHECK(client.reply()->body == "POST /slow [body]");
}

TEST_CASE("bodies of many megabytes arrive whole, by length and in chunks") {
    Fixture fixture;
    std::string body(9'000'000, 'x');
    for (std::size_t i = 0; i < body.size(); i += 1000) body[i] = static_cast<char>('a' + i / 1000 % 26);
    auto client = fixture.client();
    REQUIRE(client.send(post("/big", body)));
    CHECK(client.reply()->body == "POST /big [" + body + "]");
    std::string chunked = "POST /big HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (std::size_t at = 0; at < body.size(); at += 300'000) {
        chunked += fmt::format("{:x}\r\n{}\r\n", std::min<std::size_t>(300'000, body.size() - at),
                               body.substr(at, 300'000));
    }
    REQUIRE(client.send(chunked + "0\r\n\r\n"));
    CHECK(client.reply()->body == "POST /big [" + body + "]");
}

TEST_CASE("large bodies wait for each other when the budget is small, and all are answered") {
    HttpServerOptions options;
    options.body_budget = 400'000;
    options.max_body = 400'000;
    Fixture fixture(std::move(options));
    std::vector<std::thread> threads;
    std::atomic<int> right{0};
    for (int i = 0; i < 12; ++i) {
        threads.emplace_back([&, i] {
            RawClient client(fixture.server->port());
            const std::string body(300'000, static_cast<char>('a' + i));
            const bool chunked = i % 2 == 1;
            client.send(
                chunked ? fmt::format(
                              "POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n",
                              body.size(), body)
                        : post("/b", body));
            const auto reply = client.reply();
            if (reply && reply->body == "POST /b [" + body + "]") ++right;
        });
    }
    for (auto& thread : threads) thread.join();
    CHECK(right == 12);
}

TEST_CASE("a body of several kinds of pieces is sent whole to a client that reads slowly") {
    Fixture fixture;
    const auto bytes = [](std::size_t size, int seed) {
        return SharedBytes::build(size, [&](std::span<std::uint8_t> out) {
            for (std::size_t i = 0; i < size; ++i)
                out[i] = static_cast<std::uint8_t>(i * 31 + static_cast<std::size_t>(seed));
        });
    };
    const SharedBytes first = bytes(3'000'000, 1);
    const SharedBytes second = bytes(1'000'001, 2);
    const auto mapped = std::make_shared<SharedBytes>(bytes(2'000'000, 3));
    fixture.service.large.text = "head;";
    fixture.service.large.pieces = {first, HexBytes{second}, std::string("mid"),
                                    MappedBytes(mapped->bytes(), mapped)};
    const long owners = second.use_count();

    RawClient client(fixture.server->port(), 4096);
    REQUIRE(client.send("GET /large HTTP/1.1\r\n\r\n"));
    const auto reply = client.reply();
    REQUIRE(reply);
    const auto text_of = [](ByteSpan span) { return std::string(span.begin(), span.end()); };
    std::string hex;
    for (const std::uint8_t byte : second.bytes()) fmt::format_to(std::back_inserter(hex), "{:02x}", byte);
    CHECK(reply->body == "head;" + text_of(first.bytes()) + hex + "mid" + text_of(mapped->bytes()));
    // The connection has let go of them.
    REQUIRE(client.send("GET / HTTP/1.1\r\n\r\n"));
    CHECK(client.reply());
    CHECK(second.use_count() == owners);
}

TEST_CASE("a client without progress is closed, one that reads slowly is not") {
    HttpServerOptions options;
    options.timeout = 300ms;
    Fixture fixture(std::move(options));
    fixture.service.large.pieces = {SharedBytes::build(
        12'000'000, [](std::span<std::uint8_t> out) { std::ranges::fill(out, std::uint8_t{7}); })};

    auto idle = fixture.client();
    auto half = fixture.client();
    REQUIRE(half.send("POST / HTTP/1.1\r\nContent-Le"));
    auto stuck = RawClient(fixture.server->port(), 4096);
    REQUIRE(stuck.send("GET /large HTTP/1.1\r\n\r\n"));
    auto slow = RawClient(fixture.server->port(), 4096);
    REQUIRE(slow.send("GET /large HTTP/1.1\r\n\r\n"));
    const auto begin = std::chrono::steady_clock::now();
    // Somewhat less than a second for all of it: several times the time-out.
    std::size_t got = 0;
    while (got < 9'000'000) {
        REQUIRE(slow.receive(400'000));
        got += 400'000;
        std::this_thread::sleep_for(15ms);
    }
    CHECK(slow.reply());
    CHECK(std::chrono::steady_clock::now() - begin > 300ms);
    slow.close();
    CHECK(idle.ended());
    CHECK(half.ended());
    // To read from the stuck one would be progress: the server has to say that it has given it up.
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (fixture.server->status().timeouts < 3 && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(5ms);
    }
    CHECK(fixture.server->status().timeouts == 3);
    CHECK(stuck.rest().size() < 12'000'000);
}

TEST_CASE("clients beyond the limit wait and are served when others leave") {
    HttpServerOptions options;
    options.max_connections = 2;
    Fixture fixture(std::move(options));
    auto first = fixture.client();
    auto second = fixture.client();
    REQUIRE(first.send(post("/1", "", kPassword)));
    REQUIRE(first.reply());
    REQUIRE(second.send(post("/2", "", kPassword)));
    REQUIRE(second.reply());
    auto third = fixture.client();
    REQUIRE(third.send(post("/3", "")));
    CHECK_FALSE(third.readable(30));
    first.close();
    CHECK(third.reply()->body == "POST /3 []");
    CHECK(fixture.server->status().evicted == 0);
}

TEST_CASE("idle connections without a password make way, the longest idle first") {
    HttpServerOptions options;
    options.max_connections = 4;
    Fixture fixture(std::move(options));
    const auto accepted = [&](std::uint64_t count) {
        while (fixture.server->status().accepted < count) std::this_thread::yield();
    };
    auto known = fixture.client();
    REQUIRE(known.send(post("/", "", kPassword)));
    REQUIRE(known.reply());
    auto silent = fixture.client();
    accepted(2);
    auto half = fixture.client();
    REQUIRE(half.send("POST / HTTP/1.1\r\nContent-Le"));
    accepted(3);
    auto served = fixture.client();
    REQUIRE(served.send(post("/", "")));
    REQUIRE(served.reply());
    std::vector<std::unique_ptr<RawClient>> kept;  // each newcomer has to evict again
    for (RawClient* gone : {&silent, &half, &served}) {
        kept.push_back(std::make_unique<RawClient>(fixture.server->port()));
        REQUIRE(kept.back()->send(post("/next", "", kPassword)));
        CHECK(kept.back()->reply()->body == "POST /next []");
        CHECK(gone->ended());
    }
    CHECK(fixture.server->status().evicted == 3);
    REQUIRE(known.send(post("/known", "")));
    CHECK(known.reply()->body == "POST /known []");
}

TEST_CASE("a client without a password has a short time for the head of its request") {
    HttpServerOptions options;
    options.head_timeout = 200ms;
    Fixture fixture(std::move(options));
    auto known = fixture.client();
    REQUIRE(known.send(post("/", "", kPassword)));
    REQUIRE(known.reply());
    REQUIRE(known.send("POST / HT"));
    auto served = fixture.client();
    REQUIRE(served.send(post("/", "")));
    REQUIRE(served.reply());
    auto silent = fixture.client();
    auto drip = fixture.client();
    // A letter now and then is progress, but no head.
    std::thread dripping([&] {
        while (drip.send("x")) std::this_thread::sleep_for(20ms);
    });
    CHECK(silent.ended());
    CHECK(drip.ended());
    dripping.join();
    REQUIRE(known.send("TP/1.1\r\nContent-Length: 0\r\n\r\n"));
    CHECK(known.reply());
    REQUIRE(served.send(post("/", "")));
    CHECK(served.reply());
}

TEST_CASE("large replies are made when there is room for them, one after the other if need be") {
    HttpServerOptions options;
    options.reply_budget = 1 << 20;
    options.threads = 4;
    Fixture fixture(std::move(options));
    // Clients that do not read fill their sockets and hold what is left of their replies.
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 0; i < 12; ++i) {
        clients.push_back(std::make_unique<RawClient>(fixture.server->port(), 4096));
        std::string pipeline;
        for (int k = 0; k < 20; ++k) pipeline += "GET /counted HTTP/1.1\r\n\r\n";
        REQUIRE(clients.back()->send(pipeline));
    }
    std::size_t most = 0;
    std::vector<std::thread> readers;
    std::atomic<int> right{0};
    for (auto& client : clients) {
        readers.emplace_back([&, c = client.get()] {
            for (int k = 0; k < 20; ++k) {
                const auto reply = c->reply();
                if (reply && reply->body.size() == (1 << 20)) ++right;
            }
        });
    }
    while (fixture.service.made < 12 * 20)
        most = std::max<std::size_t>(most, fixture.server->status().reply_bytes);
    for (auto& reader : readers) reader.join();
    CHECK(right == 12 * 20);
    // The budget, and what the threads had begun when it was full.
    CHECK(most <= (std::size_t{1} << 20) * 6);
    while (fixture.server->status().reply_bytes > 0) std::this_thread::yield();
}

TEST_CASE("small replies do not wait for room") {
    HttpServerOptions options;
    options.reply_budget = 1;
    Fixture fixture(std::move(options));
    RawClient stuck(fixture.server->port(), 4096);
    std::string pipeline;
    for (int k = 0; k < 20; ++k) pipeline += "GET /counted HTTP/1.1\r\n\r\n";
    REQUIRE(stuck.send(pipeline));
    while (fixture.server->status().reply_bytes == 0) std::this_thread::yield();
    auto client = fixture.client();
    REQUIRE(client.send(post("/", "")));
    CHECK(client.reply());
}

TEST_CASE("a service that throws costs its request, not the server") {
    Fixture fixture;
    auto client = fixture.client();
    REQUIRE(client.send("GET /throws HTTP/1.1\r\n\r\n"));
    CHECK(client.reply()->status() == 500);
    auto next = fixture.client();
    REQUIRE(next.send("GET / HTTP/1.1\r\n\r\n"));
    CHECK(next.reply()->status() == 200);
}

TEST_CASE("stopping lets a call under way end, and closes idle clients at once") {
    Fixture fixture;
    auto idle = fixture.client();
    REQUIRE(idle.send(post("/", "")));
    REQUIRE(idle.reply());
    auto busy = fixture.client();
    REQUIRE(busy.send(post("/chain", "b")));
    fixture.service.entered.acquire();
    std::thread stopper([&] { fixture.server->stop(10s); });
    CHECK(idle.ended());
    fixture.service.gate.release();
    const auto reply = busy.reply();
    REQUIRE(reply);
    CHECK(reply->body == "job b");
    CHECK(reply->field("Connection") == "close");
    stopper.join();
    CHECK_THROWS(static_cast<void>(fixture.client()));
}

TEST_CASE("stopping takes no longer than its grace, whatever a call does") {
    Fixture fixture;
    auto busy = fixture.client();
    REQUIRE(busy.send(post("/chain", "b")));
    fixture.service.entered.acquire();
    auto half = fixture.client();
    REQUIRE(half.send("POST / HTTP/1.1\r\n"));
    const auto begin = std::chrono::steady_clock::now();
    fixture.server->stop(50ms);
    CHECK(std::chrono::steady_clock::now() - begin < 5s);
    CHECK(busy.ended());
    CHECK(half.ended());
    fixture.service.gate.release();  // the destructor waits for it
}

TEST_CASE("a port that is taken is named with the remedy") {
    Fixture fixture;
    HttpServerOptions options;
    options.endpoints = {{.host = "127.0.0.1", .port = fixture.server->port()}};
    const auto second = HttpServer::listen(std::move(options), fixture.service, fixture.logger);
    REQUIRE_FALSE(second.has_value());
    CHECK(second.error().code == Errc::busy);
    CHECK(second.error().context ==
          fmt::format("cannot listen for RPC on 127.0.0.1:{}: the port is taken; is bitcoind using it? "
                      "give -rpcport=<another port>",
                      fixture.server->port()));
}

TEST_CASE("a call sees that its client has gone, whatever is still unread") {
    Fixture fixture;
    auto other = fixture.client();
    for (const bool orderly : {true, false}) {
        CAPTURE(orderly);
        auto client = fixture.client();
        REQUIRE(client.send(post("/until-departed", "") + post("/", "sent ahead")));
        fixture.service.entered.acquire();
        if (!orderly) {
            const ::linger reset{1, 0};
            ::setsockopt(client.socket(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        }
        client.close();
        REQUIRE(fixture.service.left.try_acquire_for(20s));
    }
    REQUIRE(other.send(post("/", "still here")));
    CHECK(other.reply()->status() == 200);
}

TEST_CASE("thousands of clients that leave half-way leave nothing behind") {
    Fixture fixture;
    for (int round = 0; round < 20; ++round) {
        std::vector<std::unique_ptr<RawClient>> clients;
        for (int i = 0; i < 100; ++i) {
            clients.push_back(std::make_unique<RawClient>(fixture.server->port()));
            clients.back()->send("POST / HTTP/1.1\r\nContent-Length: 100\r\n\r\nhalf");
        }
    }
    auto client = fixture.client();
    // Each was accepted, and is gone as soon as the server has seen its end.
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (fixture.server->status().connections > 1 && std::chrono::steady_clock::now() < deadline) {
        REQUIRE(client.send(post("/", "")));
        REQUIRE(client.reply());
    }
    CHECK(fixture.server->status().connections <= 1);
}

TEST_SUITE_END();
