// SPDX-License-Identifier: MIT
#pragma once

#include "base/subnet.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace blockpub {

/// A peer that came, as far as it matters where places are few.
struct SeatedPeer {
    std::uint32_t number = 0;  ///< who came later has a higher one
    IpAddress address;
    bool ready = false;  ///< has shaken hands
    bool safe = false;   ///< is never sent away
};

/// Who has to go for a newcomer when all places are taken. Nothing: nobody, the newcomer is refused.
///
/// Who has not shaken hands goes first; of several whoever has taken the longest. Else the half of the peers
/// that has been here the longer stays, and of the others the last that came goes. Of both, the peers of that
/// network go first that has the most places, the newcomer counted: who wants all places needs many networks.
/// So a newcomer whose network has more places than any of theirs takes the place of the last of its own that
/// is not settled, or is refused. `privileged`: the operator has named the newcomer, and any that is not safe
/// makes room for it.
[[nodiscard]] std::optional<std::uint32_t> peer_to_evict(std::vector<SeatedPeer> peers,
                                                         const IpAddress& newcomer, bool privileged);

}  // namespace blockpub
