// SPDX-License-Identifier: MIT
#include "notify/endpoint.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace blockpub;

TEST_SUITE("notify.endpoint") {
    TEST_CASE("what libzmq can bind is taken and spelt one way") {
        struct Case {
            const char* name;
            const char* text;
            const char* canonical;
            bool beyond;
        };
        constexpr Case kCases[] = {
            {"an IPv4 address", "tcp://127.0.0.1:28332", "tcp://127.0.0.1:28332", false},
            {"another loopback address", "tcp://127.8.0.1:28332", "tcp://127.8.0.1:28332", false},
            {"an address of a network", "tcp://192.168.1.2:28332", "tcp://192.168.1.2:28332", true},
            {"all addresses", "tcp://0.0.0.0:28332", "tcp://0.0.0.0:28332", true},
            {"a star for the host", "tcp://*:28332", "tcp://*:28332", true},
            {"a star for the port", "tcp://127.0.0.1:*", "tcp://127.0.0.1:*", false},
            {"the highest port", "tcp://127.0.0.1:65535", "tcp://127.0.0.1:65535", false},
            {"localhost", "tcp://localhost:1", "tcp://127.0.0.1:1", false},
            {"an interface", "tcp://lo:28332", "tcp://lo:28332", false},
            {"IPv6 loopback", "tcp://[::1]:28332", "tcp://[::1]:28332", false},
            {"IPv6 in another spelling", "tcp://[0:0::0:1]:28332", "tcp://[::1]:28332", false},
            {"IPv6 any", "tcp://[::]:28332", "tcp://[::]:28332", true},
            {"IPv6 of a network", "tcp://[2001:DB8::5]:28332", "tcp://[2001:db8::5]:28332", true},
            {"an IPv4 loopback address in IPv6", "tcp://[::ffff:127.0.0.1]:9", "tcp://[::ffff:127.0.0.1]:9",
             false},
            {"an ipc path", "ipc:///run/x/b.sock", "ipc:///run/x/b.sock", false},
            {"a relative ipc path", "ipc://b.sock", "ipc://b.sock", false},
            {"a unix path", "unix:/run/x/b.sock", "ipc:///run/x/b.sock", false},
            {"a unix path with slashes", "unix:///run/x/b.sock", "ipc:///run/x/b.sock", false},
            {"a relative unix path", "unix:b.sock", "ipc://b.sock", false},
            {"an abstract socket", "ipc://@blockpub", "ipc://@blockpub", false},
            {"a temporary socket", "ipc://*", "ipc://*", false},
        };
        for (const Case& c : kCases) {
            CAPTURE(c.name);
            const auto endpoint = parse_endpoint(c.text);
            REQUIRE_MESSAGE(endpoint.has_value(), endpoint.error().context);
            CHECK(endpoint->canonical() == c.canonical);
            CHECK(beyond_loopback(*endpoint) == c.beyond);
            CHECK(parse_endpoint(endpoint->canonical()) == *endpoint);
        }
    }

    TEST_CASE("everything else is refused in one line that names text and reason") {
        struct Case {
            const char* name;
            const char* text;
            const char* reason;
        };
        constexpr Case kCases[] = {
            {"nothing", "", "does not begin with"},
            {"no transport", "127.0.0.1", "does not begin with"},
            {"no transport, a port", "127.0.0.1:28332", "does not begin with"},
            {"no slashes", "tcp:127.0.0.1:28332", "does not begin with"},
            {"another transport", "foo:///p", "does not begin with"},
            {"a transport of libzmq that cannot serve", "inproc://x", "does not begin with"},
            {"a transport in capitals", "TCP://127.0.0.1:1", "does not begin with"},
            {"two colons", "tcp://127.0.0.1::28332", "a colon too many"},
            {"no port", "tcp://127.0.0.1", "no port"},
            {"an empty port", "tcp://127.0.0.1:", "the port is not"},
            {"port 0", "tcp://127.0.0.1:0", "the port is not"},
            {"a port too high", "tcp://127.0.0.1:65536", "the port is not"},
            {"a long port", "tcp://127.0.0.1:000028332", "the port is not"},
            {"a negative port", "tcp://127.0.0.1:-1", "the port is not"},
            {"a port with a path", "tcp://127.0.0.1:28332/", "the port is not"},
            {"a port in words", "tcp://127.0.0.1:http", "the port is not"},
            {"no host", "tcp://:28332", "no host"},
            {"a host name", "tcp://example.org:28332", "neither an address nor an interface"},
            {"a bad IPv4 address", "tcp://127.0.0.256:28332", "neither an address nor an interface"},
            {"a short IPv4 address", "tcp://127.1:28332", "neither an address nor an interface"},
            {"bare IPv6", "tcp://::1:28332", "stands in brackets"},
            {"an open bracket", "tcp://[::1:28332", "not an IPv6 address between the brackets"},
            {"IPv4 in brackets", "tcp://[127.0.0.1]:28332", "not an IPv6 address between the brackets"},
            {"empty brackets", "tcp://[]:28332", "not an IPv6 address between the brackets"},
            {"an unknown zone", "tcp://[fe80::1%nosuch0]:28332", "not an IPv6 address between the brackets"},
            {"a source address", "tcp://127.0.0.1:1;127.0.0.1:2", "a colon too many"},
            {"a blank", "tcp://127.0.0.1:28332 ", "a blank or a control character"},
            {"a line end", "tcp://127.0.0.1:28332\nx", "a blank or a control character"},
            {"no path", "ipc://", "no path"},
            {"no unix path", "unix:", "no path"},
            {"no abstract name", "ipc://@", "no path"},
            {"a directory", "ipc:///run/", "a directory"},
        };
        for (const Case& c : kCases) {
            CAPTURE(c.name);
            const auto endpoint = parse_endpoint(c.text);
            REQUIRE_FALSE(endpoint.has_value());
            CHECK(endpoint.error().code == Errc::invalid_argument);
            CHECK(endpoint.error().context.find(c.reason) != std::string::npos);
            CHECK(endpoint.error().context.find('\n') == std::string::npos);
            const std::string first_line =
                std::string(c.text).substr(0, std::string(c.text).find_first_of(" \n"));
            CHECK(endpoint.error().context.find(first_line) != std::string::npos);
        }
    }

    TEST_CASE("a path of 107 bytes fits a socket address, one of 108 does not") {
        const std::string fits = "ipc:///" + std::string(106, 'x');
        CHECK(parse_endpoint(fits).has_value());
        const auto longer = parse_endpoint(fits + "x");
        REQUIRE_FALSE(longer.has_value());
        CHECK(longer.error().code == Errc::limit);
        CHECK(longer.error().context.find("108 bytes") != std::string::npos);
        CHECK(longer.error().context.find("room for 107") != std::string::npos);
    }

    TEST_CASE("addresses are reported as configured, unix: spelt ipc://") {
        CHECK(reported_address("unix:/p") == "ipc:///p");
        CHECK(reported_address("unix:///p") == "ipc:///p");
        CHECK(reported_address("ipc:///p") == "ipc:///p");
        CHECK(reported_address("tcp://localhost:1") == "tcp://localhost:1");
    }
}
