// SPDX-License-Identifier: MIT
#pragma once

#include "source/p2p_inbound_connection.hpp"

#include <blockpub/logger.hpp>
#include <blockpub/result.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace blockpub {

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
