// SPDX-License-Identifier: MIT
#pragma once

#include "base/clock.hpp"
#include "primitives/work.hpp"

#include <atomic>
#include <chrono>

namespace blockpub {

/// Whether the chain is still being caught up with: while importing, with less work than the chain is known
/// to have, or with a tip that is old. Once left, it is left for good.
///
/// Thread safety: every method from any thread.
/// Ownership: borrows the clock.
/// Source: Bitcoin Core v28.1 src/validation.cpp, IsInitialBlockDownload.
class InitialDownload {
 public:
    InitialDownload(const Clock& clock, const Uint256& minimum_chainwork, std::chrono::seconds max_tip_age)
        : clock_(clock), minimum_chainwork_(minimum_chainwork), max_tip_age_(max_tip_age) {}

    /// Asked with the new tip in place, so that the block that ends initial download is already outside of
    /// it.
    [[nodiscard]] bool holds(std::int64_t tip_time, const Uint256& tip_work, bool importing) {
        if (left_.load(std::memory_order_relaxed)) return false;
        if (importing || tip_work < minimum_chainwork_) return true;
        if (tip_time < clock_.now_seconds() - max_tip_age_.count()) return true;
        left_.store(true, std::memory_order_relaxed);
        return false;
    }

 private:
    const Clock& clock_;
    const Uint256 minimum_chainwork_;
    const std::chrono::seconds max_tip_age_;
    std::atomic<bool> left_{false};
};

}  // namespace blockpub
