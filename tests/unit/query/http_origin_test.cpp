// SPDX-License-Identifier: MIT
#include "query/http_origin.hpp"

#include "query/http_cross_origin.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <variant>

using namespace blockpub;

namespace {

struct Request {
    explicit Request(const std::string& fields) : text("GET / HTTP/1.1\r\n" + fields + "\r\n") {
        REQUIRE(parse_http_head(text, head));
    }
    std::string text;
    HttpHead head;
};

/// What a page on app.example is told beside.
constexpr const char* kShared =
    "Vary: Origin\r\nAccess-Control-Allow-Origin: https://app.example\r\n"
    "Access-Control-Expose-Headers: ETag, Content-Range, Accept-Ranges, Retry-After\r\n";

/// Refuses one path, answers one at once, and the others by a job.
struct ThreeWays final : HttpService {
    [[nodiscard]] std::optional<HttpRefusal> admit(HttpRequest& request) override {
        ++admitted;
        if (request.head.target == "/refused") return HttpRefusal{.response = {.status = 401}};
        return std::nullopt;
    }
    [[nodiscard]] HttpAnswer answer(HttpRequest& request) override {
        const auto make = [] { return HttpResponse{.fields = "ETag: x\r\n", .text = "text"}; };
        if (request.head.target == "/now") return make();
        return HttpJob{.lane = Lane::wait, .run = make, .reply_bytes = 7};
    }
    int admitted = 0;
};

}  // namespace

TEST_SUITE_BEGIN("query.http_origin");

TEST_CASE("hosts that a web page cannot make up are answered") {
    const OriginPolicy policy({"node.example"}, {});
    struct Case {
        const char* name;
        const char* fields;
        bool admitted;
    };
    static constexpr Case kCases[] = {
        {"no Host", "", true},
        {"IPv4", "Host: 127.0.0.1:8372\r\n", true},
        {"IPv4 of elsewhere", "Host: 10.1.2.3\r\n", true},
        {"IPv6", "Host: [::1]:8372\r\n", true},
        {"localhost", "Host: localhost:8372\r\n", true},
        {"a name without a dot", "Host: blockpub:8372\r\n", true},
        {"a name that was given", "Host: NODE.example:8372\r\n", true},
        {"a name below it", "Host: a.node.example\r\n", false},
        {"a dotted name", "Host: evil.example\r\n", false},
        {"a dotted name with a port", "Host: evil.example:8372\r\n", false},
        {"a name that begins as an address", "Host: 127.0.0.1.evil.example\r\n", false},
        {"not quite an address", "Host: 127.0.1\r\n", false},
        {"brackets around a name", "Host: [evil.example]\r\n", false},
        {"no bracket at the end", "Host: [evil.example\r\n", false},
        {"two hosts", "Host: localhost\r\nHost: evil.example\r\n", false},
        {"its own origin", "Host: localhost:8372\r\nOrigin: http://localhost:8372\r\n", true},
        {"its own origin behind TLS", "Host: localhost:8372\r\nOrigin: https://LOCALHOST:8372\r\n", true},
        {"the same name on another port", "Host: localhost:8372\r\nOrigin: http://localhost\r\n", false},
        {"a foreign origin", "Host: localhost:8372\r\nOrigin: https://evil.example\r\n", false},
        {"an opaque origin", "Host: localhost:8372\r\nOrigin: null\r\n", false},
        {"an origin without a Host", "Origin: http://localhost:8372\r\n", false},
        {"two origins", "Host: localhost\r\nOrigin: http://localhost\r\nOrigin: https://evil.example\r\n",
         false},
    };
    for (const Case& c : kCases) {
        CAPTURE(c.name);
        CHECK(policy.admits(Request(c.fields).head) == c.admitted);
    }
}

TEST_CASE("origins that were named may read, and are told so") {
    const OriginPolicy policy({}, {"https://app.example"});
    const Request named("Host: localhost\r\nOrigin: https://app.example\r\n");
    CHECK(policy.admits(named.head));
    HttpResponse response;
    policy.mark(named.head, response);
    CHECK(response.fields ==
          "Vary: Origin\r\nAccess-Control-Allow-Origin: https://app.example\r\n"
          "Access-Control-Expose-Headers: ETag, Content-Range, Accept-Ranges, Retry-After\r\n");
    const Request other("Host: localhost\r\nOrigin: https://evil.example\r\n");
    CHECK_FALSE(policy.admits(other.head));
    const Request none("Host: localhost\r\n");
    HttpResponse plain;
    policy.mark(none.head, plain);
    CHECK(plain.fields == "Vary: Origin\r\n");
}

TEST_CASE("a star lets every page read, but no made-up host in") {
    const OriginPolicy policy({}, {"*"});
    const Request any("Host: localhost\r\nOrigin: https://any.example\r\n");
    CHECK(policy.admits(any.head));
    HttpResponse response;
    policy.mark(any.head, response);
    CHECK(response.fields.starts_with("Access-Control-Allow-Origin: *\r\n"));
    CHECK_FALSE(policy.admits(Request("Host: evil.example\r\nOrigin: http://evil.example\r\n").head));
}

TEST_CASE("without named origins nothing is added") {
    const OriginPolicy policy({}, {});
    HttpResponse response;
    policy.mark(Request("Host: localhost\r\nOrigin: http://localhost\r\n").head, response);
    CHECK(response.fields.empty());
}

TEST_CASE("what a page may send is asked for without a password, and answered to named origins") {
    const OriginPolicy policy({}, {"https://app.example"});
    const std::string origin = "Origin: https://app.example\r\n";
    const std::string method = "Access-Control-Request-Method: POST\r\n";
    const std::string allowed = std::string(kShared) + "Access-Control-Allow-Methods: GET, HEAD, POST\r\n";
    const std::string age = "Access-Control-Max-Age: 7200\r\n";
    struct Case {
        const char* name;
        std::string asked;
        int status;
        std::string fields;
    };
    const Case kCases[] = {
        {"a method", origin + method, 204, allowed + age},
        {"another method", origin + "Access-Control-Request-Method: PUT\r\n", 204, allowed + age},
        {"fields", origin + method + "Access-Control-Request-Headers: authorization,content-type\r\n", 204,
         allowed + "Access-Control-Allow-Headers: authorization,content-type\r\n" + age},
        {"a machine in the page's reach alone",
         origin + method + "Access-Control-Request-Private-Network: true\r\n", 204,
         allowed + "Access-Control-Allow-Private-Network: true\r\n" + age},
        {"a foreign origin", "Origin: https://evil.example\r\n" + method, 403, "Vary: Origin\r\n"},
        {"an origin that begins as a named one", "Origin: https://app.example.evil.example\r\n" + method, 403,
         "Vary: Origin\r\n"},
        {"no origin", method, 405, "Allow: GET, HEAD, POST, OPTIONS\r\n"},
        {"no method", origin, 405, "Allow: GET, HEAD, POST, OPTIONS\r\n"},
    };
    for (const Case& c : kCases) {
        CAPTURE(c.name);
        const HttpResponse response = policy.preflight(Request(c.asked).head);
        CHECK(response.status == c.status);
        CHECK(response.fields == c.fields);
        CHECK(response.text.empty());
        CHECK_FALSE(response.close);
    }
}

TEST_CASE("every answer to a named origin says so: refusals, answers at once and those of jobs") {
    ThreeWays behind;
    const OriginPolicy policy({}, {"https://app.example"});
    CrossOriginService service(behind, policy);
    const auto ask = [&](const std::string& line, const std::string& fields, HttpRequest& request) {
        request.head_text = line + " HTTP/1.1\r\n" + fields + "\r\n";
        REQUIRE(parse_http_head(request.head_text, request.head));
        return service.admit(request);
    };
    const std::string named = "Origin: https://app.example\r\n";
    for (const bool foreign : {false, true}) {
        CAPTURE(foreign);
        const std::string fields = foreign ? "Origin: https://evil.example\r\n" : named;
        const std::string shared = foreign ? "Vary: Origin\r\n" : kShared;
        HttpRequest refused;
        const auto refusal = ask("POST /refused", fields, refused);
        REQUIRE(refusal);
        CHECK(refusal->response.status == 401);
        CHECK(refusal->response.fields == shared);

        HttpRequest now;
        CHECK_FALSE(ask("GET /now", fields, now));
        CHECK(std::get<HttpResponse>(service.answer(now)).fields == "ETag: x\r\n" + shared);

        HttpRequest later;
        CHECK_FALSE(ask("GET /later", fields, later));
        HttpAnswer answer = service.answer(later);
        const HttpJob& job = std::get<HttpJob>(answer);
        CHECK(job.lane == Lane::wait);
        CHECK(job.reply_bytes == 7);
        CHECK(job.run().fields == "ETag: x\r\n" + shared);
    }
    CHECK(behind.admitted == 6);
    HttpRequest question;
    const auto answered = ask("OPTIONS /", named + "Access-Control-Request-Method: POST\r\n", question);
    REQUIRE(answered);
    CHECK(answered->response.status == 204);
    CHECK(behind.admitted == 6);
}

TEST_CASE("an origin is what browsers write") {
    for (const char* good :
         {"*", "null", "https://app.example", "http://localhost:3000", "http://127.0.0.1:80801",
          "http://[::1]:3000", "https://[::1]", "chrome-extension://abcdefgh", "http://a:443"}) {
        CAPTURE(good);
        CHECK(is_origin(good));
    }
    for (const char* bad : {"", "app.example", "https://", "://app.example", "https://app.example/",
                            "https://a/b", "https://user@a", "https://a:", "https://a:b", "https://a:443",
                            "http://a:80", "HTTP://a:80", "https://*.example", "https://a b",
                            "https://a\r\nX: y", "http://::1", "https://a?b", "https://a,https://b"}) {
        CAPTURE(bad);
        CHECK_FALSE(is_origin(bad));
    }
}

TEST_SUITE_END();
