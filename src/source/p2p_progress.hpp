// SPDX-License-Identifier: MIT
#pragma once

#include "base/log.hpp"
#include "chain/services.hpp"
#include "source/progress.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

namespace blockpub {

/// Says how far the following of peers has come, while it is behind, and once when it has caught up; and when
/// it stays behind at the tip.
/// Thread safety: one thread at a time. Ownership: borrows the sink, which may be null. Units: bytes.
class FollowProgress {
 public:
    using Time = std::chrono::steady_clock::time_point;

    /// `every`: between two lines in the log.
    FollowProgress(std::chrono::milliseconds every, const Log& log, ProgressSink* sink)
        : every_(every), log_(log), sink_(sink) {}

    struct State {
        std::uint64_t height = 0;
        std::uint64_t best_header = 0;
        std::uint32_t presync = 0;  ///< height of headers that are looked at for the first time; 0 for none
        std::size_t peers = 0;
        std::size_t nodes = 0;  ///< to be connected
    };
    /// A block of so many bytes has arrived.
    void add(std::size_t bytes) { bytes_ += bytes; }
    /// To be called about once a second.
    void tick(const State& state, Time now);
    /// As of the last tick.
    [[nodiscard]] const PeerList::Lag& lag() const& { return lag_; }

 private:
    struct Sample {
        Time time;
        std::uint64_t height;
        std::uint64_t bytes;
    };
    [[nodiscard]] std::string line(const State& state, Time now);
    void say_caught_up(const State& state);
    void measure(const State& state, Time now);
    void say_lagging(const State& state, Time now);

    const std::chrono::milliseconds every_;
    const Log log_;
    ProgressSink* const sink_;
    std::uint64_t bytes_ = 0;
    std::deque<Sample> samples_;
    Time next_line_{};
    bool behind_ = false;
    bool shown_ = false;  // something stands in the sink
    std::uint64_t caught_up_from_ = 0;
    PeerList::Lag lag_;
    std::optional<Time> behind_since_;
    std::optional<Time> alone_since_;  // none of the nodes is connected
    Time next_lag_line_{};
};

}  // namespace blockpub
