// SPDX-License-Identifier: MIT
#pragma once

#include "base/subnet.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/logger.hpp>
#include <blockpub/result.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
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

struct PeerEndpoint {
    std::string host;  ///< numeric; empty for every address
    std::uint16_t port = 0;
    std::uint32_t permissions = 0;
};

/// Listens for peers: the thread `p2p-serve`, its clock tick, and the connections that come.
///
/// Thread safety: post, stop and addresses from any thread; the rest before start().
/// Blocking: stop waits for the handler that runs.
class PeerListener {
 public:
    /// Binds and listens; who connects waits until start(). Errors: busy, invalid_argument, io; one sentence
    /// with the remedy.
    [[nodiscard]] static Result<std::unique_ptr<PeerListener>> listen(
        const std::vector<PeerEndpoint>& endpoints, Logger& logger);
    ~PeerListener();
    PeerListener(const PeerListener&) = delete;
    PeerListener& operator=(const PeerListener&) = delete;

    struct Handlers {
        std::function<void(std::unique_ptr<InboundConnection>)> accepted;
        std::function<void()> tick;
    };
    /// Both handlers are called on the thread, until stop().
    void start(std::chrono::milliseconds tick, Handlers handlers);
    /// Ends the thread; what was posted and has not run never will. `last` runs on the thread as its last
    /// work. Repeated calls do nothing.
    void stop(std::function<void()> last);
    /// Runs a function on the thread, soon. Copies may outlive the listener: then nothing happens.
    using Poster = std::function<void(std::function<void()>)>;
    [[nodiscard]] Poster poster() const;

    struct Bound {
        std::string host;
        std::uint16_t port = 0;
        bool every_address = false;
        [[nodiscard]] std::string text() const;  ///< `address:port`, v6 in brackets
    };
    [[nodiscard]] std::vector<Bound> addresses() const;

 private:
    struct Impl;
    explicit PeerListener(std::shared_ptr<Impl> impl);
    std::shared_ptr<Impl> impl_;
};

}  // namespace blockpub
