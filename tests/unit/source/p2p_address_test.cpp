// SPDX-License-Identifier: MIT
#include "source/p2p_address.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace blockpub;

TEST_SUITE_BEGIN("source.p2p_address");

TEST_CASE("addresses of nodes are taken in every spelling") {
    struct Case {
        const char* text;
        const char* host;
        int port;
        const char* written;
    };
    const Case cases[] = {
        {"10.0.0.1", "10.0.0.1", 8333, "10.0.0.1:8333"},
        {"10.0.0.1:1", "10.0.0.1", 1, "10.0.0.1:1"},
        {"node.example:65535", "node.example", 65535, "node.example:65535"},
        {"[::1]", "::1", 8333, "[::1]:8333"},
        {"[2001:db8::1]:18444", "2001:db8::1", 18444, "[2001:db8::1]:18444"},
        {"2001:db8::1", "2001:db8::1", 8333, "[2001:db8::1]:8333"},
    };
    for (const Case& c : cases) {
        CAPTURE(c.text);
        const auto address = PeerAddress::parse(c.text, 8333);
        REQUIRE(address);
        CHECK(address->host == c.host);
        CHECK(int{address->port} == c.port);
        CHECK(address->text() == c.written);
        CHECK(*PeerAddress::parse(address->text(), 0) == *address);
    }
}

TEST_CASE("what is no address of a node is refused with the forms that are") {
    for (const char* text : {"", ":1", "[", "[::1", "[::1]x", "[::1]:", "host:", "host:0", "host:65536",
                             "host:-1", "host:1x", "two words", "user@host", "http://host", "[]"}) {
        CAPTURE(text);
        const auto address = PeerAddress::parse(text, 8333);
        REQUIRE_FALSE(address);
        CHECK(address.error().code == Errc::invalid_argument);
        CHECK(address.error().context.find("is no address of a node") != std::string::npos);
    }
}

TEST_SUITE_END();
