// SPDX-License-Identifier: MIT
#include "source/p2p_source.hpp"

#include <algorithm>
#include <utility>

namespace blockpub {
namespace {

using std::chrono::milliseconds;

/// A second, or less where time-outs are shorter.
milliseconds tick_for(const FollowerOptions& options) {
    return std::clamp<milliseconds>(options.peer_timeout / 4, milliseconds{50}, milliseconds{500});
}

}  // namespace

P2pSource::P2pSource(FollowerOptions options, std::vector<std::string> added, Chain& chain,
                     const ChainParams& params, const Clock& clock, Logger& logger, ProgressSink* sink)
    : network_(tick_for(options), [this] { tick(); }),
      follower_(options, network_, chain, params, clock, logger, sink, board_),
      control_({.default_port = params.p2p_port,
                .connect = options.peers,
                .added = std::move(added),
                .active = options.active},
               follower_, network_) {
    blocks_only_.set_following(!follower_.peers().empty());
    network_.start();
}

void P2pSource::tick() {
    follower_.tick();
    blocks_only_.set_following(!follower_.peers().empty());
}

TransactionSender& P2pSource::transactions() & {
    if (TransactionSender* const relay = follower_.transactions()) return *relay;
    return blocks_only_;
}

P2pSource::~P2pSource() {
    stop();
}

void P2pSource::stop() {
    network_.stop([this] { follower_.close(); });
    control_.stop();
}

}  // namespace blockpub
