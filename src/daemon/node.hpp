// SPDX-License-Identifier: MIT
#pragma once

#include "daemon/exit_status.hpp"
#include "daemon/options.hpp"
#include "daemon/status_line.hpp"
#include "daemon/stop_request.hpp"
#include "source/progress.hpp"

#include <blockpub/block_reader.hpp>
#include <blockpub/bus.hpp>
#include <blockpub/logger.hpp>
#include <blockpub/publisher.hpp>
#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

/// What an embedding program or a test puts in the way of a node's own parts; empty members change nothing.
/// Ownership: what they return must outlive the node.
struct NodeHooks {
    /// Gives the reader that publishers read blocks with, in front of the node's own.
    std::function<BlockReader&(BlockReader&)> wrap_publisher_reader;
    /// Asked by the coin store's flusher.
    StoreFaults* coin_faults = nullptr;
    /// Turns debug lines of a category on or off, for the RPC `logging`; false for an unknown one.
    std::function<bool(std::string_view category, bool on)> set_debug;
    /// Where imports and exports of the start show how far they are, beside the log.
    ProgressSink* progress = nullptr;
};

/// A running blockpub: store, chain, publishers, JSON-RPC and imports, wired to one another.
///
/// Thread safety: the accessors from any thread; start and stop from one.
/// Ownership: borrows logger and stop request, which must outlive it; owns all else. Whoever starts it has
/// claimed the directory. Blocking: start until all is ready, stop until all is written.
class Node {
 public:
    /// Starts everything in the order that docs/operations.md gives. Nothing is left behind by a failure. The
    /// RPC `stop` and work that ends the daemon ask for it by `stop_request`. Errors: those of the parts; one
    /// sentence that says what to mend.
    [[nodiscard]] static Result<std::unique_ptr<Node>> start(NodeOptions options, Logger& logger,
                                                             StopRequest& stop_request, NodeHooks hooks = {});
    /// Stops, if stop() was not called.
    virtual ~Node() = default;

    /// Ends everything: sockets within five seconds, then what is still to be written, with a line a second.
    virtual ExitStatus stop() = 0;
    /// After stop(): why work that the daemon was to end with was not done whole; empty when it was.
    [[nodiscard]] virtual std::string failure() const = 0;

    [[nodiscard]] virtual Chain& chain() = 0;
    [[nodiscard]] virtual Store& store() = 0;
    [[nodiscard]] virtual Bus& bus() = 0;
    /// The port that JSON-RPC listens on; 0 without a server.
    [[nodiscard]] virtual std::uint16_t rpc_port() const = 0;
    [[nodiscard]] virtual std::vector<PublisherStatus> publishers() const = 0;
    [[nodiscard]] virtual StatusFacts status() const = 0;
};

}  // namespace blockpub
