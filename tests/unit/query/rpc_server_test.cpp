// SPDX-License-Identifier: MIT
#include "query/rpc_server.hpp"

#include "unit/query/raw_client.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

using namespace blockpub;
using namespace blockpub::test;

namespace {

constexpr const char* kGood = "Authorization: Basic YWxpY2U6c2VzYW1l\r\n";  // alice:sesame
constexpr const char* kBad = "Authorization: Basic YWxpY2U6d3Jvbmc=\r\n";   // alice:wrong

std::string call_of(std::string_view fields, std::string_view body, std::string_view path = "/") {
    return fmt::format("POST {} HTTP/1.1\r\nHost: x\r\n{}Content-Length: {}\r\n\r\n{}", path, fields,
                       body.size(), body);
}

std::unique_ptr<RpcServer> serve(RpcServerOptions options, Logger& logger) {
    auto server = RpcServer::listen(std::move(options), logger);
    REQUIRE(server.has_value());
    return std::move(*server);
}

RpcServerOptions with_password() {
    return {.user = "alice", .password = "sesame"};
}

constexpr const char* kWarmup =
    "{\"result\":null,\"error\":{\"code\":-28,\"message\":\"Loading block index…\"},\"id\":1}\n";
constexpr const char* kCall = R"({"id":1,"method":"getblockcount"})";

}  // namespace

TEST_SUITE_BEGIN("query.rpc_server");

TEST_CASE("the server answers before there is anything to ask") {
    NullLogger logger;
    const auto server = serve(with_password(), logger);
    server->set_warmup("Loading block index…");
    RawClient client(server->port());
    REQUIRE(client.send(call_of(kGood, kCall)));
    const auto reply = client.reply();
    REQUIRE(reply);
    CHECK(reply->status_line == "HTTP/1.1 500 Internal Server Error");
    CHECK(reply->field("Content-Type") == "application/json");
    CHECK(reply->body == kWarmup);
}

TEST_CASE("pages that were named ask before they call, the others are answered as by bitcoind") {
    NullLogger logger;
    const std::string question =
        "OPTIONS / HTTP/1.1\r\nHost: x\r\nOrigin: https://app.example\r\n"
        "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization\r\n\r\n";
    RpcServerOptions options = with_password();
    options.cors_origins = {"https://app.example"};
    const auto server = serve(std::move(options), logger);
    RawClient page(server->port());
    REQUIRE(page.send(question + call_of("Origin: https://app.example\r\n" + std::string(kGood), kCall)));
    const auto answered = page.reply(false);
    REQUIRE(answered);
    CHECK(answered->status_line == "HTTP/1.1 204 No Content");
    CHECK(answered->field("Access-Control-Allow-Origin") == "https://app.example");
    CHECK(answered->field("Access-Control-Allow-Headers") == "authorization");
    const auto called = page.reply();
    REQUIRE(called);
    CHECK(called->status() == 500);
    CHECK(called->field("Access-Control-Allow-Origin") == "https://app.example");

    const auto without = serve(with_password(), logger);
    for (const char* path : {"/", "/rest/chaininfo.json", "*"}) {
        CAPTURE(path);
        RawClient client(without->port());
        REQUIRE(client.send("OPTIONS " + std::string(path) + question.substr(9)));
        const auto refused = client.reply();
        REQUIRE(refused);
        CHECK(refused->status_line == "HTTP/1.1 501 Not Implemented");
        CHECK_FALSE(refused->has_field("Access-Control-Allow-Origin"));
        CHECK(client.ended());
    }
}

TEST_CASE("an origin that no browser writes is no start") {
    NullLogger logger;
    RpcServerOptions options = with_password();
    options.cors_origins = {"*", "https://app.example/"};
    const auto server = RpcServer::listen(std::move(options), logger);
    REQUIRE_FALSE(server.has_value());
    CHECK(server.error().code == Errc::invalid_argument);
    CHECK(
        server.error().context ==
        "-corsorigin=https://app.example/: give scheme and host, and the port if it is not the scheme's own, "
        "as https://app.example or http://localhost:3000");
}

TEST_CASE("refusals are those of bitcoind, and leave the connection to the next attempt") {
    NullLogger logger;
    const auto server = serve(with_password(), logger);
    server->set_warmup("Loading block index…");
    struct Case {
        const char* name;
        std::string request;
        const char* status_line;
        const char* type;
        const char* body;
    };
    const char* html = "text/html; charset=ISO-8859-1";
    const Case kCases[] = {
        {"no password", call_of("", kCall), "HTTP/1.1 401 Unauthorized", html, ""},
        {"another scheme", call_of("Authorization: Bearer x\r\n", kCall), "HTTP/1.1 401 Unauthorized", html,
         ""},
        {"a wrong password", call_of(kBad, kCall), "HTTP/1.1 401 Unauthorized", html, ""},
        {"GET", "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 405 Method Not Allowed", html,
         "JSONRPC server handles only POST requests"},
        {"PUT", "PUT / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", "HTTP/1.1 405 Method Not Allowed", html,
         "JSONRPC server handles only POST requests"},
        {"DELETE", "DELETE / HTTP/1.1\r\n\r\n", "HTTP/1.1 405 Method Not Allowed", html, ""},
        {"another path", call_of(kGood, kCall, "/nosuch"), "HTTP/1.1 404 Not Found", html, ""},
        {"a query behind the path", call_of(kGood, kCall, "/?x"), "HTTP/1.1 404 Not Found", html, ""},
        {"REST that is not there", "GET /rest/nosuch HTTP/1.1\r\n\r\n", "HTTP/1.1 404 Not Found", html, ""},
    };
    RawClient client(server->port());
    for (const Case& c : kCases) {
        CAPTURE(c.name);
        REQUIRE(client.send(c.request));
        auto reply = client.reply();
        REQUIRE(reply);
        CHECK(reply->status_line == c.status_line);
        CHECK(reply->field("Content-Type") == c.type);
        CHECK(reply->body == c.body);
        CHECK_FALSE(reply->has_field("Connection"));
        CHECK(reply->field("WWW-Authenticate") == (reply->status() == 401 ? "Basic realm=\"jsonrpc\"" : ""));
        REQUIRE(client.send(call_of(kGood, kCall)));
        reply = client.reply();
        REQUIRE(reply);
        CHECK(reply->body == kWarmup);
    }
    REQUIRE(client.send("HEAD / HTTP/1.1\r\n\r\n"));
    const auto head = client.reply(false);
    REQUIRE(head);
    CHECK(head->status() == 405);
    CHECK_FALSE(head->has_field("Content-Length"));
}

TEST_CASE("wrong passwords are answered late, and others are not kept waiting by it") {
    NullLogger logger;
    RpcServerOptions options = with_password();
    options.threads = 1;
    const auto server = serve(std::move(options), logger);
    server->set_warmup("Loading block index…");
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::unique_ptr<RawClient>> guessing;
    for (int i = 0; i < 20; ++i) {
        guessing.push_back(std::make_unique<RawClient>(server->port()));
        REQUIRE(guessing.back()->send(call_of(kBad, kCall)));
    }
    RawClient client(server->port());
    REQUIRE(client.send(call_of(kGood, kCall)));
    REQUIRE(client.reply());
    for (const auto& one : guessing) CHECK(one->reply()->status() == 401);
    const auto took = std::chrono::steady_clock::now() - begin;
    CHECK(took >= std::chrono::milliseconds(250));
    CHECK(took < std::chrono::milliseconds(20 * 250));
}

TEST_CASE("the cookie lets in, and is gone at the end") {
    NullLogger logger;
    std::string name = (std::filesystem::temp_directory_path() / "blockpub-rpc-XXXXXX").string();
    const std::filesystem::path directory = ::mkdtemp(name.data());
    const auto path = directory / ".cookie";
    {
        const auto server = serve({.cookie_path = path}, logger);
        server->set_warmup("Loading block index…");
        std::ifstream file(path);
        const std::string cookie{std::istreambuf_iterator<char>(file), {}};
        CHECK(cookie.size() == 10 + 1 + 64);
        RawClient client(server->port());
        REQUIRE(client.send(call_of(kGood, kCall)));
        CHECK(client.reply()->status() == 401);
        // Base64 of the cookie, by hand: its length is no multiple of three.
        static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        std::string coded;
        for (std::size_t i = 0; i < cookie.size(); i += 3) {
            const auto byte = [&](std::size_t at) {
                return at < cookie.size() ? static_cast<unsigned char>(cookie[at]) : 0u;
            };
            const unsigned bits = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
            for (std::size_t k = 0; k < 4; ++k)
                coded += i + k <= cookie.size() ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
        }
        REQUIRE(client.send(call_of("Authorization: Basic " + coded + "\r\n", kCall)));
        CHECK(client.reply()->body == kWarmup);
        // A second daemon that cannot have the port must not touch the file.
        const auto second = RpcServer::listen({.port = server->port(), .cookie_path = path}, logger);
        REQUIRE_FALSE(second.has_value());
        CHECK(second.error().code == Errc::busy);
        std::ifstream again(path);
        CHECK(std::string{std::istreambuf_iterator<char>(again), {}} == cookie);
    }
    CHECK_FALSE(std::filesystem::exists(path));
    std::filesystem::remove_all(directory);
}

TEST_CASE("by default only loopback is listened on, on one port") {
    NullLogger logger;
    const auto server = serve(with_password(), logger);
    const auto addresses = server->addresses();
    REQUIRE(addresses.size() >= 1);
    CHECK(addresses[0] == fmt::format("127.0.0.1:{}", server->port()));
    if (addresses.size() > 1) CHECK(addresses[1] == fmt::format("[::1]:{}", server->port()));
    CHECK(server->warnings().empty());
}

TEST_CASE("options that make no sense alone are warned of, dangerous ones too") {
    NullLogger logger;
    RpcServerOptions options = with_password();
    options.bind = {"0.0.0.0"};
    auto server = serve(options, logger);
    REQUIRE(server->warnings().size() == 1);
    CHECK(server->warnings()[0].find("-rpcbind is ignored") == 0);
    CHECK(server->addresses()[0].starts_with("127.0.0.1:"));

    options = with_password();
    options.allow_ip = {"10.0.0.0/8"};
    server = serve(options, logger);
    REQUIRE(server->warnings().size() == 1);
    CHECK(server->warnings()[0].find("-rpcallowip without -rpcbind") == 0);

    options.bind = {"0.0.0.0", "127.0.0.1"};
    options.bind.resize(1);
    server = serve(options, logger);
    REQUIRE(server->warnings().size() == 1);
    CHECK(server->warnings()[0].find("untrusted networks") != std::string::npos);
    CHECK(server->addresses()[0].starts_with("0.0.0.0:"));
}

TEST_CASE("stopping from two threads at once stops once, and both come back when it is done") {
    NullLogger logger;
    for (int round = 0; round < 20; ++round) {
        std::string name = (std::filesystem::temp_directory_path() / "blockpub-rpc-XXXXXX").string();
        const std::filesystem::path directory = ::mkdtemp(name.data());
        const auto server = serve({.cookie_path = directory / ".cookie"}, logger);
        const std::uint16_t port = server->port();
        std::thread other([&] { server->stop(); });
        server->stop();
        CHECK_FALSE(std::filesystem::exists(directory / ".cookie"));
        CHECK_THROWS(RawClient(port));
        other.join();
        std::filesystem::remove_all(directory);
    }
}

TEST_CASE("malformed options name themselves") {
    NullLogger logger;
    struct Case {
        const char* name;
        RpcServerOptions options;
        const char* text;
    };
    const Case kCases[] = {
        {"allowip", {.allow_ip = {"here"}}, "-rpcallowip: 'here'"},
        {"bind port", {.bind = {"127.0.0.1:http"}, .allow_ip = {"127.0.0.1"}}, "-rpcbind=127.0.0.1:http"},
        {"bind port too large",
         {.bind = {"127.0.0.1:70000"}, .allow_ip = {"127.0.0.1"}},
         "-rpcbind=127.0.0.1:70000"},
        {"bind bracket", {.bind = {"[::1"}, .allow_ip = {"127.0.0.1"}}, "-rpcbind=[::1"},
        {"bind name", {.bind = {"no-such-host.invalid"}, .allow_ip = {"127.0.0.1"}}, "no-such-host.invalid"},
        {"auth", {.hashed_passwords = {"nonsense"}}, "-rpcauth"},
    };
    for (const Case& c : kCases) {
        CAPTURE(c.name);
        const auto server = RpcServer::listen(c.options, logger);
        REQUIRE_FALSE(server.has_value());
        CHECK(server.error().code == Errc::invalid_argument);
        CHECK(server.error().context.find(c.text) != std::string::npos);
    }
}

TEST_SUITE_END();
