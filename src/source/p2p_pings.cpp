// SPDX-License-Identifier: MIT
#include "source/p2p_pings.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <random>

namespace blockpub {

std::uint64_t PeerPings::begin(Time now) {
    BLOCKPUB_CHECK(nonce_ == 0);
    std::random_device random;
    nonce_ = (std::uint64_t{random()} << 32 | random()) | 1;  // never 0
    last_ = now;
    measured_ = true;
    return nonce_;
}

void PeerPings::answered(std::uint64_t nonce, Time now) {
    if (nonce_ == 0 || nonce != nonce_) return;
    nonce_ = 0;
    if (!measured_) return;
    latest_ = std::chrono::duration_cast<Duration>(now - last_);
    least_ = std::min(least_.value_or(*latest_), *latest_);
}

void PeerPings::restart(Time now) {
    last_ = now;
    measured_ = false;
}

std::optional<PeerPings::Duration> PeerPings::waited(Time now) const {
    if (nonce_ == 0) return std::nullopt;
    return std::chrono::duration_cast<Duration>(now - last_);
}

}  // namespace blockpub
