// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace blockpub {

/// Where a node's RPC server is, and how to log in.
/// Thread safety: a value.
struct UpstreamUrl {
    std::string host;  ///< a name or a numeric address, without brackets
    std::uint16_t port = 0;
    std::string target = "/";
    std::optional<std::string> login;  ///< `user:password`; a secret

    /// `http://host:port/target`, without the login.
    [[nodiscard]] std::string shown() const;
    /// Whether the host is named as this machine itself.
    [[nodiscard]] bool is_loopback() const;
};

/// `http://[user:password@]host[:port][/target]`; what is special in user and password may be spelled as %xx.
/// Errors: invalid_argument; the sentence never holds any part of the text, which may hold a password.
[[nodiscard]] Result<UpstreamUrl> parse_upstream_url(std::string_view text, std::uint16_t default_port);

}  // namespace blockpub
