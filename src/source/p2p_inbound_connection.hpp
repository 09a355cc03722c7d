// SPDX-License-Identifier: MIT
#pragma once

#include "base/subnet.hpp"

#include <blockpub/bytes.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace blockpub {

/// A TCP connection that a peer has made. Destroying it closes it.
/// Thread safety: the listener's thread only. Blocking: never.
class InboundConnection {
 public:
    using Time = std::chrono::steady_clock::time_point;
    /// All are called on the listener's thread, never from within a call of the connection, and not after it
    /// is destroyed.
    struct Handlers {
        /// What a read has brought. The bytes stay until the next read.
        std::function<void(ByteSpan)> received;
        /// Some of what waited has been sent.
        std::function<void()> sent;
        /// It has ended: one clause that says why. The last call.
        std::function<void(std::string reason)> closed;
    };
    virtual ~InboundConnection() = default;
    /// Called once, first.
    virtual void begin(Handlers handlers) = 0;
    /// Has more of the peer's bytes received; what it sends otherwise waits with it. Does nothing while a
    /// read is under way.
    virtual void read() = 0;
    virtual void send(std::vector<std::uint8_t> bytes) = 0;
    /// The kernel takes the bytes from where they are.
    virtual void send(MappedBytes bytes) = 0;
    [[nodiscard]] virtual std::size_t unsent() const = 0;
    /// When something was last sent, or the first of what waits was given.
    [[nodiscard]] virtual Time last_progress() const = 0;
    [[nodiscard]] virtual const IpAddress& address() const = 0;
    [[nodiscard]] virtual const std::string& remote() const = 0;  ///< `address:port`, v6 in brackets
    [[nodiscard]] virtual const std::string& local() const = 0;
    /// Permissions that the address it came to gives (-whitebind).
    [[nodiscard]] virtual std::uint32_t permissions() const = 0;
};

}  // namespace blockpub
