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

using Sizes = std::map<NetworkGroup, std::size_t>;

/// How many of each network there are, the newcomer counted.
Sizes network_sizes(const std::vector<SeatedPeer>& peers, const IpAddress& newcomer) {
    Sizes sizes{{network_group(newcomer), 1}};
    for (const SeatedPeer& peer : peers) ++sizes[network_group(peer.address)];
    return sizes;
}

/// The first in `peers` of the network that has the most. Of several such networks, the one with the first of
/// all. Requires: there is any.
const SeatedPeer& first_of_largest(const std::vector<SeatedPeer>& peers, const Sizes& sizes) {
    return *std::ranges::max_element(
        peers, {}, [&](const SeatedPeer& peer) { return sizes.at(network_group(peer.address)); });
}

/// Of `count` peers that came one after another: how many are settled.
std::ptrdiff_t settled_of(std::ptrdiff_t count, bool privileged) {
    return privileged ? 0 : (count + 1) / 2;
}

}  // namespace

std::optional<std::uint32_t> peer_to_evict(std::vector<SeatedPeer> peers, const IpAddress& newcomer,
                                           bool privileged) {
    std::erase_if(peers, [](const SeatedPeer& peer) { return peer.safe; });
    std::ranges::sort(peers, {}, [](const SeatedPeer& peer) { return std::pair(peer.ready, peer.number); });
    const auto ready = std::ranges::find(peers, true, &SeatedPeer::ready);
    const Sizes sizes = network_sizes(peers, newcomer);
    const std::vector<SeatedPeer> slow(peers.begin(), ready);
    std::vector<SeatedPeer> unsettled(ready + settled_of(peers.end() - ready, privileged), peers.end());
    std::ranges::reverse(unsettled);
    const std::vector<SeatedPeer>& candidates = slow.empty() ? unsettled : slow;
    if (candidates.empty()) return std::nullopt;
    const SeatedPeer& candidate = first_of_largest(candidates, sizes);
    const NetworkGroup own = network_group(newcomer);
    if (privileged || sizes.at(network_group(candidate.address)) >= sizes.at(own)) return candidate.number;
    // A network that has more places than any of theirs takes them from itself.
    const auto of_own =
        std::ranges::find(unsettled, own, [](const SeatedPeer& peer) { return network_group(peer.address); });
    if (of_own == unsettled.end()) return std::nullopt;
    return of_own->number;
}

}  // namespace blockpub
