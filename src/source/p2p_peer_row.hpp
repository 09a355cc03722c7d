// SPDX-License-Identifier: MIT
#pragma once

#include "base/subnet.hpp"
#include "chain/services.hpp"
#include "source/p2p_messages.hpp"
#include "source/p2p_session.hpp"
#include "source/p2p_traffic.hpp"

#include <cstdint>
#include <string_view>

namespace blockpub {

/// What getpeerinfo shows of a peer whether it was called or came. Borrows all that it refers to.
struct PeerFacts {
    std::uint32_t number = 0;
    std::string_view name;   ///< as operators know it
    std::string_view local;  ///< our side of the connection
    const IpAddress& address;
    const PeerVersion& version;
    const PeerTraffic& traffic;
    PeerSessionStats stats;
    std::int64_t connected_at = 0;
    std::int64_t last_sent = 0;
    std::int64_t last_received = 0;
};

/// The row with all that is among the facts; the rest is for the caller to fill in.
[[nodiscard]] PeerRow make_peer_row(const PeerFacts& facts);

}  // namespace blockpub
