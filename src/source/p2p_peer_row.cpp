// SPDX-License-Identifier: MIT
#include "source/p2p_peer_row.hpp"

namespace blockpub {

PeerRow make_peer_row(const PeerFacts& facts) {
    const PeerVersion& version = facts.version;
    PeerRow row;
    row.number = facts.number;
    row.address = facts.name;
    row.local_address = facts.local;
    row.v6 = !facts.address.is_v4();
    row.routable = facts.address.is_routable();
    row.services = version.services;
    row.protocol = version.protocol;
    row.user_agent = version.user_agent;
    row.start_height = version.start_height;
    // No honest clock is before 1970, and the difference fits.
    row.time_offset = version.time > 0 ? version.time - facts.connected_at : 0;
    row.connected_at = facts.connected_at;
    row.last_sent = facts.last_sent;
    row.last_received = facts.last_received;
    facts.traffic.show(row);
    row.ping = facts.stats.ping;
    row.least_ping = facts.stats.least_ping;
    row.ping_under_way = facts.stats.ping_under_way;
    row.fee_filter = facts.stats.fee_filter;
    return row;
}

}  // namespace blockpub
