// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace blockpub {

/// Where the progress of a long work is shown, such as a terminal's last line.
///
/// Thread safety: one call at a time, from the working thread.
/// Blocking: implementations must not wait.
class ProgressSink {
 public:
    virtual ~ProgressSink() = default;
    /// The line that replaces the one before.
    virtual void show(std::string_view line) noexcept = 0;
};

/// How far a work over a known number of bytes has come.
struct ProgressPoint {
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;  ///< at most the total
};

/// Rates over the last half minute, and the time that is left at this rate.
/// Thread safety: distinct objects safe. Units: bytes.
class ProgressMeter {
 public:
    using Time = std::chrono::steady_clock::time_point;
    struct Rates {
        double blocks_per_second = 0;
        double bytes_per_second = 0;
        double fraction = 1;                       ///< of the total
        std::optional<std::chrono::seconds> left;  ///< nothing while it cannot be told
    };

    ProgressMeter(std::uint64_t total_bytes, Time now) : total_(total_bytes), samples_{{now, {}}} {}
    [[nodiscard]] Rates update(const ProgressPoint& point, Time now);
    [[nodiscard]] std::uint64_t total_bytes() const { return total_; }

 private:
    struct Sample {
        Time time;
        ProgressPoint point;
    };
    std::uint64_t total_;
    std::deque<Sample> samples_;
};

/// When progress is told: in the log now and then, on a terminal each second.
/// Thread safety: distinct objects safe.
class ProgressPace {
 public:
    using Time = ProgressMeter::Time;
    struct Due {
        bool log = false;  ///< a line for the log too
    };
    ProgressPace(std::chrono::milliseconds log_every, bool has_sink, Time now)
        : log_every_(log_every), has_sink_(has_sink), next_log_(now + log_every) {
        set_next(now);
    }
    /// When something is due.
    [[nodiscard]] Time next() const { return next_; }
    /// What is due at `now`; the next time is set.
    [[nodiscard]] Due take(Time now) {
        const Due due{.log = now >= next_log_};
        if (due.log) next_log_ = now + log_every_;
        set_next(now);
        return due;
    }

 private:
    void set_next(Time now) {
        next_ = has_sink_ ? std::min<Time>(next_log_, now + std::chrono::seconds(1)) : next_log_;
    }
    std::chrono::milliseconds log_every_;
    bool has_sink_;
    Time next_log_;
    Time next_;
};

/// `height 412345, 5120 blocks/s, 63.2 MB/s, 41.0 % of 612.3 GB, 1 h 52 min left`
[[nodiscard]] std::string format_progress(std::uint32_t height, const ProgressMeter::Rates& rates,
                                          std::uint64_t total_bytes);
/// `612.3 GB`; units of 1000.
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);
/// `1 h 52 min`, `4 min 10 s`, `8 s`.
[[nodiscard]] std::string format_duration(std::chrono::seconds duration);

}  // namespace blockpub
