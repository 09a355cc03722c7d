// SPDX-License-Identifier: MIT
#include "query/http_origin.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace blockpub;

namespace {

struct Request {
    explicit Request(const std::string& fields) : text("GET / HTTP/1.1\r\n" + fields + "\r\n") {
        REQUIRE(parse_http_head(text, head));
    }
    std::string text;
    HttpHead head;
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
          "Access-Control-Expose-Headers: ETag, Content-Range, Accept-Ranges\r\n");
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

TEST_SUITE_END();
