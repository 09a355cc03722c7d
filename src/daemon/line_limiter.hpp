// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <string_view>
#include <unordered_map>

namespace blockpub {

/// Says of each log line whether it is written: of equal lines a few in each window of time.
///
/// Thread safety: none; the caller has a lock.
/// Units: remembers a fixed number of lines by their hash, some 100 bytes each.
class LineLimiter {
 public:
    static constexpr std::size_t kLinesRemembered = 512;
    static constexpr std::uint64_t kLinesPerWindow = 5;
    static constexpr std::chrono::seconds kWindow{60};

    using Time = std::chrono::steady_clock::time_point;

    struct Verdict {
        bool write = true;
        bool last_of_window = false;  ///< equal lines will be left out from now on
        std::uint64_t left_out = 0;   ///< equal lines left out since the last one that was written
    };
    [[nodiscard]] Verdict admit(std::string_view line, Time now);

 private:
    struct Entry {
        std::size_t hash = 0;
        Time window_start;
        std::uint64_t seen = 0;  ///< in this window
    };
    std::list<Entry> entries_;  ///< the oldest window first
    std::unordered_map<std::size_t, std::list<Entry>::iterator> by_hash_;
};

}  // namespace blockpub
