// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace blockpub {

/// Unix time, which a fixed clock (`-mocktime`, setmocktime) may stand in for.
/// Thread safety: every method from any thread.
class Clock {
   public:
    /// Seconds since 1970. The fixed time where one is set.
    [[nodiscard]] std::int64_t now_seconds() const noexcept {
        const std::int64_t fixed = fixed_.load(std::memory_order_relaxed);
        if (fixed != 0) return fixed;
        return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
    }
    /// 0 lets the clock run again.
    void set_fixed(std::int64_t seconds) noexcept { fixed_.store(seconds, std::memory_order_relaxed); }

   private:
    std::atomic<std::int64_t> fixed_{0};
};

}  // namespace blockpub
