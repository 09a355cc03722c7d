// SPDX-License-Identifier: MIT
#include "base/socket_address.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <string>

using namespace blockpub;

TEST_SUITE_BEGIN("base.socket_address");

namespace {

std::string v6_text(const char* address, std::uint32_t zone = 0) {
    ::sockaddr_in6 socket{};
    socket.sin6_family = AF_INET6;
    socket.sin6_port = htons(8333);
    socket.sin6_scope_id = zone;
    REQUIRE(::inet_pton(AF_INET6, address, &socket.sin6_addr) == 1);
    return SocketAddress::of(reinterpret_cast<const ::sockaddr*>(&socket), sizeof socket).text();
}

}  // namespace

TEST_CASE("an IPv4 socket has an address and a port") {
    ::sockaddr_in socket{};
    socket.sin_family = AF_INET;
    socket.sin_port = htons(18444);
    REQUIRE(::inet_pton(AF_INET, "10.1.2.3", &socket.sin_addr) == 1);
    const auto* const generic = reinterpret_cast<const ::sockaddr*>(&socket);
    const SocketAddress address = SocketAddress::of(generic, sizeof socket);
    CHECK(address.address == *IpAddress::parse("10.1.2.3"));
    CHECK(address.port == 18444);
    CHECK(address.text() == "10.1.2.3:18444");
    // Cut short it says nothing.
    CHECK(SocketAddress::of(generic, sizeof socket - 1).text() == "0.0.0.0:0");
}

TEST_CASE("an IPv6 socket is written in brackets, and with its zone") {
    CHECK(v6_text("2001:db8:0::1") == "[2001:db8::1]:8333");
    CHECK(v6_text("fe80::1", 2) == "[fe80::1%2]:8333");
    // IPv4 in IPv6 is IPv4.
    CHECK(v6_text("::ffff:10.1.2.3") == "10.1.2.3:8333");
}

TEST_CASE("a socket of another kind has no address") {
    ::sockaddr_un socket{};
    socket.sun_family = AF_UNIX;
    CHECK(SocketAddress::of(reinterpret_cast<const ::sockaddr*>(&socket), sizeof socket).text() ==
          "0.0.0.0:0");
}

TEST_SUITE_END();
