// SPDX-License-Identifier: MIT
#pragma once

#include "base/subnet.hpp"

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace blockpub {

/// One end of a TCP connection.
/// Thread safety: a value.
struct SocketAddress {
    IpAddress address;
    std::uint16_t port = 0;
    std::uint32_t zone = 0;  ///< number of the interface that a link-local IPv6 address belongs to; 0: none

    /// Of an IPv4 or IPv6 socket; anything else is 0.0.0.0 and port 0. `size` bytes are looked at.
    [[nodiscard]] static SocketAddress of(const ::sockaddr* socket, std::size_t size);
    /// `address:port`, v6 in brackets, and with its zone where it has one.
    [[nodiscard]] std::string text() const;
};

}  // namespace blockpub
