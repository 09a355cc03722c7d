// SPDX-License-Identifier: MIT
#pragma once

#include "base/socket_address.hpp"
#include "base/subnet.hpp"
#include "source/p2p_address.hpp"

#include <blockpub/bytes.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace blockpub {

/// A TCP connection that is made, or being made, to a peer. Destroying it closes it.
/// Thread safety: the network's thread only. Blocking: never.
class PeerConnection {
 public:
    /// All are called on the network's thread, never from within a call of the connection, and not after it
    /// is destroyed.
    struct Handlers {
        /// Whether a connection with an address of the host is allowed: asked before one is made, and when it
        /// has been made.
        std::function<bool(const IpAddress&)> allowed;
        std::function<void(const SocketAddress& local, const SocketAddress& remote)> connected;
        std::function<void(ByteSpan)> received;
        /// All that was to be sent is with the kernel.
        std::function<void()> drained;
        /// It could not be made, or has ended: one clause that says why, and whether the peer did what no
        /// honest one does. The last call.
        std::function<void(std::string reason, bool faulty)> closed;
    };
    virtual ~PeerConnection() = default;
    virtual void send(std::vector<std::uint8_t> bytes) = 0;
    /// Bytes that wait to be sent. Too many of them end the connection.
    [[nodiscard]] virtual std::size_t unsent() const = 0;
    /// While paused nothing is read, so that the peer's bytes wait with the peer.
    virtual void pause(bool paused) = 0;
    [[nodiscard]] virtual bool paused() const = 0;
};

/// The thread `p2p`, its clock tick, and connections of peers.
///
/// Thread safety: start_ticking, stop and a poster's calls from any thread; connect on the network's own.
/// Blocking: stop waits for the handler that runs.
class PeerNetwork {
 public:
    /// `on_tick` runs on the thread each `tick`, from start_ticking() on.
    PeerNetwork(std::chrono::milliseconds tick, std::function<void()> on_tick);
    ~PeerNetwork();
    PeerNetwork(const PeerNetwork&) = delete;
    PeerNetwork& operator=(const PeerNetwork&) = delete;

    /// What is posted runs from here on.
    void start();
    void start_ticking();
    /// Ends the thread; what was posted and has not run never will. `last` runs on the thread as its last
    /// work: what belongs to it ends there. Repeated calls do nothing.
    void stop(std::function<void()> last);

    /// Runs a function on the thread, soon. Copies may outlive the network: then nothing happens.
    using Poster = std::function<void(std::function<void()>)>;
    [[nodiscard]] Poster poster() const;
    [[nodiscard]] std::unique_ptr<PeerConnection> connect(const PeerAddress& address,
                                                          std::chrono::milliseconds timeout,
                                                          PeerConnection::Handlers handlers);

 private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace blockpub
