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
    : network_(tick_for(options), [this] { follower_.tick(); }),
      follower_(options, network_, chain, params, clock, logger, sink, board_),
      control_({.default_port = params.p2p_port,
                .connect = options.peers,
                .added = std::move(added),
                .active = options.active},
               follower_, network_) {
    network_.start();
}

P2pSource::~P2pSource() {
    stop();
}

void P2pSource::stop() {
    network_.stop([this] { follower_.close(); });
    control_.stop();
}

}  // namespace blockpub
