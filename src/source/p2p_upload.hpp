// SPDX-License-Identifier: MIT
#pragma once

#include "chain/services.hpp"

#include <cstdint>

namespace blockpub {

/// Holds what is sent to peers against -maxuploadtarget, day by day.
///
/// Thread safety: one thread at a time.
/// Units: bytes, seconds.
/// Source: Bitcoin Core v28.1 src/net.cpp, OutboundTargetReached.
class UploadTarget {
 public:
    static constexpr std::int64_t kCycle = 24 * 60 * 60;
    /// Blocks older than this, counted from the newest, are history.
    static constexpr std::int64_t kHistoryAge = 7 * 24 * 60 * 60;

    /// 0: no limit.
    explicit UploadTarget(std::uint64_t limit) : limit_(limit) {}

    void add(std::uint64_t bytes, std::int64_t now);
    [[nodiscard]] bool reached(std::int64_t now) const;
    /// Whether history is kept back, so that each new block can still be sent once.
    [[nodiscard]] bool history_reached(std::int64_t now) const;
    [[nodiscard]] PeerList::Upload shown(std::int64_t now) const;

 private:
    [[nodiscard]] std::int64_t time_left(std::int64_t now) const;
    [[nodiscard]] std::uint64_t sent(std::int64_t now) const;

    const std::uint64_t limit_;
    std::int64_t began_ = 0;  // the cycle; 0: not yet
    std::uint64_t sent_ = 0;  // in it
};

}  // namespace blockpub
