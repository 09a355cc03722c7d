// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace blockpub {

/// Says which failed logins are logged: a few in each window of time, from whatever addresses they come, so
/// that guessing passwords does not fill the disk.
/// Thread safety: every method from any thread. Blocking: never.
class FailedLogins {
 public:
    static constexpr std::uint64_t kLines = 5;
    static constexpr std::chrono::seconds kWindow{60};
    using Time = std::chrono::steady_clock::time_point;

    /// Notes one. Nothing: it is not to be logged; else how many were not since the last that was.
    [[nodiscard]] std::optional<std::uint64_t> note(Time now) BLOCKPUB_EXCLUDES(mutex_);

 private:
    Mutex mutex_;
    std::optional<Time> window_start_ BLOCKPUB_GUARDED_BY(mutex_);
    std::uint64_t lines_ BLOCKPUB_GUARDED_BY(mutex_) = 0;
    std::uint64_t left_out_ BLOCKPUB_GUARDED_BY(mutex_) = 0;
};

}  // namespace blockpub
