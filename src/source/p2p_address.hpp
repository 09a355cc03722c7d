// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace blockpub {

/// Where a peer is called.
struct PeerAddress {
    std::string host;  ///< a name, or an address without brackets
    std::uint16_t port = 0;

    /// `host`, `host:port`, `[v6]` or `[v6]:port`. Errors: invalid_argument.
    [[nodiscard]] static Result<PeerAddress> parse(std::string_view text, std::uint16_t default_port);
    /// With brackets where the host is a v6 address.
    [[nodiscard]] std::string text() const;
    friend bool operator==(const PeerAddress&, const PeerAddress&) = default;
};

}  // namespace blockpub
