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

P2pSource::P2pSource(FollowerOptions options, Chain& chain, const ChainParams& params, const Clock& clock,
                     Logger& logger, ProgressSink* sink)
    : network_(tick_for(options), [this] { follower_.tick(); }),
      follower_(std::move(options), network_, chain, params, clock, logger, sink, board_) {}

P2pSource::~P2pSource() {
    stop();
}

void P2pSource::stop() {
    network_.stop([this] { follower_.close(); });
}

}  // namespace blockpub
