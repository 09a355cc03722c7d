// SPDX-License-Identifier: MIT
#include "base/socket_address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <array>
#include <cstring>

namespace blockpub {

SocketAddress SocketAddress::of(const ::sockaddr* socket, std::size_t size) {
    SocketAddress out;
    ::sockaddr_in v4{};
    ::sockaddr_in6 v6{};
    if (size >= sizeof v4 && socket->sa_family == AF_INET) {
        std::memcpy(&v4, socket, sizeof v4);
        std::array<std::uint8_t, 4> bytes;
        std::memcpy(bytes.data(), &v4.sin_addr, bytes.size());
        out = {.address = IpAddress::from_v4(bytes), .port = ntohs(v4.sin_port)};
    } else if (size >= sizeof v6 && socket->sa_family == AF_INET6) {
        std::memcpy(&v6, socket, sizeof v6);
        std::array<std::uint8_t, 16> bytes;
        std::memcpy(bytes.data(), &v6.sin6_addr, bytes.size());
        out = {.address = IpAddress::from_v6(bytes), .port = ntohs(v6.sin6_port), .zone = v6.sin6_scope_id};
    }
    return out;
}

std::string SocketAddress::text() const {
    if (address.is_v4()) return fmt::format("{}:{}", address.text(), port);
    if (zone == 0) return fmt::format("[{}]:{}", address.text(), port);
    return fmt::format("[{}%{}]:{}", address.text(), zone, port);
}

}  // namespace blockpub
