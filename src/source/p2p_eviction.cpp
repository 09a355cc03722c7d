// SPDX-License-Identifier: MIT
#include "source/p2p_eviction.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <utility>

namespace blockpub {
namespace {

constexpr std::size_t kGroupBytesV4 = 2;
constexpr std::size_t kGroupBytesV6 = 4;

using NetworkGroup = std::array<std::uint8_t, 1 + kGroupBytesV6>;

/// What one party is likely to have as a whole: a /16 of IPv4, a /32 of IPv6.
NetworkGroup network_group(const IpAddress& address) {
    NetworkGroup group{};
    group[0] = address.is_v4() ? 4 : 6;
    std::copy_n(address.bytes().begin(), address.is_v4() ? kGroupBytesV4 : kGroupBytesV6, group.begin() + 1);
    return group;
}

/// The first in `peers` of the network that most of them are of, the newcomer counted. Of several such
/// networks, the one with the first of all.
std::optional<std::uint32_t> first_of_largest_group(const std::vector<SeatedPeer>& peers,
                                                    const IpAddress& newcomer) {
    std::map<NetworkGroup, std::size_t> sizes{{network_group(newcomer), 1}};
    for (const SeatedPeer& peer : peers) ++sizes[network_group(peer.address)];
    const auto first = std::ranges::max_element(
        peers, {}, [&](const SeatedPeer& peer) { return sizes.at(network_group(peer.address)); });
    if (first == peers.end()) return std::nullopt;
    return first->number;
}

}  // namespace

std::optional<std::uint32_t> peer_to_evict(std::vector<SeatedPeer> peers, const IpAddress& newcomer,
                                           bool privileged) {
    std::erase_if(peers, [](const SeatedPeer& peer) { return peer.safe; });
    std::ranges::sort(peers, {}, [](const SeatedPeer& peer) { return std::pair(peer.ready, peer.number); });
    const auto ready = std::ranges::find(peers, true, &SeatedPeer::ready);
    if (ready != peers.begin()) {
        peers.erase(ready, peers.end());
        return first_of_largest_group(peers, newcomer);
    }
    const std::size_t settled = privileged ? 0 : (peers.size() + 1) / 2;
    peers.erase(peers.begin(), peers.begin() + static_cast<std::ptrdiff_t>(settled));
    std::ranges::reverse(peers);
    return first_of_largest_group(peers, newcomer);
}

}  // namespace blockpub
