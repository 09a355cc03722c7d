// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <string>

namespace blockpub {

/// A request to a server elsewhere, whole.
struct HttpExchange {
    std::string host;
    std::uint16_t port = 0;
    std::string request;  ///< head and body; must ask for the connection to be closed
    std::chrono::steady_clock::time_point deadline;  ///< for the whole of the reply
    std::size_t max_body = 0;                        ///< of the reply
    std::function<bool()> stopping;                  ///< asked ten times a second; true ends it
};

struct HttpExchangeReply {
    int status = 0;
    std::string body;
};

struct HttpExchangeFailure {
    enum class Kind : std::uint8_t { unreachable, timeout, broken, stopped };
    Kind kind = Kind::unreachable;
    bool sent = false;   ///< the whole request: it may have been carried out
    std::string reason;  ///< in words, without the address
};

/// Carries out one exchange on a connection of its own.
/// Thread safety: from any thread, several at a time. Blocking: until the reply is whole, or the deadline.
[[nodiscard]] std::expected<HttpExchangeReply, HttpExchangeFailure> exchange_http(
    const HttpExchange& exchange);

}  // namespace blockpub
