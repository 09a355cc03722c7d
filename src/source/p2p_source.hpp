// SPDX-License-Identifier: MIT
#pragma once

#include "source/p2p_blocks_only.hpp"
#include "source/p2p_control.hpp"
#include "source/p2p_follower.hpp"
#include "source/p2p_network.hpp"

#include <string>
#include <vector>

namespace blockpub {

/// Follows nodes over their P2P port, on a thread of its own, which carries out what operators ask for from
/// the beginning, and calls nodes from start() on.
///
/// Thread safety: every method from any thread.
/// Ownership: borrows all that it is made with. It is destroyed after the chain thread has ended, or before
/// its last answer could come: the chain drops what it has not come to.
/// Blocking: stop waits for the handler that runs; the rest never.
/// Errors: of peers are logged, and a peer is called again after a while; nothing ends the following but the
/// chain.
class P2pSource {
 public:
    /// `added`: nodes to follow that addnode can remove, as they were given.
    P2pSource(FollowerOptions options, std::vector<std::string> added, Chain& chain,
              const ChainParams& params, const Clock& clock, Logger& logger, ProgressSink* sink);
    ~P2pSource();
    P2pSource(const P2pSource&) = delete;
    P2pSource& operator=(const P2pSource&) = delete;

    void start() { network_.start_ticking(); }
    void stop();
    [[nodiscard]] const PeerList& peers() const& { return board_; }
    [[nodiscard]] PeerControl& control() & { return control_; }
    [[nodiscard]] TransactionSender& transactions() &;

 private:
    void tick();

    PeerBoard board_;
    BlocksOnlySender blocks_only_;
    PeerNetwork network_;
    Follower follower_;
    FollowerControl control_;
};

}  // namespace blockpub
