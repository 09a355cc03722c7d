// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace blockpub {

/// An address that a publisher can bind, taken apart and checked before libzmq sees it.
/// Thread safety: a value.
/// Source: libzmq's zmq_tcp(7) and zmq_ipc(7), as far as they speak of binding.
struct Endpoint {
    enum class Transport : std::uint8_t { tcp, ipc };
    Transport transport = Transport::tcp;
    std::string host;        ///< tcp: `*`, an address without brackets, or the name of an interface
    bool ipv6 = false;       ///< tcp: host is an IPv6 address
    std::uint16_t port = 0;  ///< tcp: 0 lets the system choose
    std::string path;        ///< ipc: of the socket; a leading `@` names an abstract one, `*` a temporary one

    /// libzmq's spelling. Equal for endpoints that are the same place.
    [[nodiscard]] std::string canonical() const;
    /// Whether the endpoint is a file.
    [[nodiscard]] bool is_file() const {
        return transport == Transport::ipc && path[0] != '@' && path != "*";
    }
    friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// Takes `tcp://host:port`, `ipc://path` and `unix:path`. Host: `*`, an IPv4 address, an IPv6 address in
/// brackets, the name of an interface, or `localhost`; port: 1 to 65535, or `*`. Errors: invalid_argument;
/// limit (the path does not fit a socket address). The context names text and reason.
[[nodiscard]] Result<Endpoint> parse_endpoint(std::string_view text);

/// The text with a leading `unix:` spelt `ipc://`, as getzmqnotifications reports it.
[[nodiscard]] std::string reported_address(std::string_view text);

/// Whether others than processes of this machine can reach the endpoint.
[[nodiscard]] bool beyond_loopback(const Endpoint& endpoint);

}  // namespace blockpub
