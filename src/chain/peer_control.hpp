// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/hash.hpp>
#include <blockpub/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// What operators tell the connections to peers: declared here, implemented in source, joined in the daemon.

namespace blockpub {

/// One row of getaddednodeinfo.
struct AddedNodeRow {
    std::string node;     ///< as it was added
    std::string address;  ///< of the connection; empty: there is none
};

/// Connections to peers, as an operator steers them.
///
/// Nodes are called as long as they are on the list of added nodes, or were given at the start.
/// Thread safety: every method from any thread.
/// Blocking: until the network's thread has come to it, never for a peer.
/// Errors: stopped; those that are named below.
class PeerControl {
 public:
    virtual ~PeerControl() = default;

    /// Result: false when it is on the list already. Errors: invalid_argument (no address of a node).
    [[nodiscard]] virtual Result<bool> add_node(std::string_view node) = 0;
    /// Takes a node from the list; a connection to it lasts until it ends by itself. `node` as it was added.
    /// Result: false when it is not on the list.
    [[nodiscard]] virtual Result<bool> remove_node(std::string_view node) = 0;
    /// Calls a node once. Nothing happens when it is called already. Errors: invalid_argument.
    [[nodiscard]] virtual Result<void> try_node(std::string_view node) = 0;
    /// In the order in which they were added.
    [[nodiscard]] virtual Result<std::vector<AddedNodeRow>> added_nodes() = 0;

    /// Ends a connection. A node that is to be followed is called again after a while.
    /// `address`: as getpeerinfo shows it. Result: false when there is no such connection.
    [[nodiscard]] virtual Result<bool> disconnect(std::string_view address) = 0;
    [[nodiscard]] virtual Result<bool> disconnect(std::int64_t peer) = 0;
    /// The list of bans has changed: ends the connections that it forbids, calls those that it allows again.
    [[nodiscard]] virtual Result<void> bans_changed() = 0;
    [[nodiscard]] virtual Result<void> ping() = 0;

    /// Without network activity nobody is called, and all connections end.
    [[nodiscard]] virtual Result<void> set_active(bool active) = 0;
    /// Waits for nothing.
    [[nodiscard]] virtual bool active() const = 0;

    /// Asks a peer for a block whose header is here. Errors: invalid_argument, the context is Core's text.
    [[nodiscard]] virtual Result<void> fetch_block(const BlockHash& hash, Height height,
                                                   std::int64_t peer) = 0;
};

}  // namespace blockpub
