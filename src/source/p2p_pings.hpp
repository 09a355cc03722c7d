// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace blockpub {

/// The pings that one peer is sent, one at a time, and how long its answers take. No clock of its own.
/// Thread safety: one thread at a time.
class PeerPings {
 public:
    using Time = std::chrono::steady_clock::time_point;
    using Duration = std::chrono::microseconds;

    /// The time until the first ping is counted from `now` on.
    explicit PeerPings(Time now) : last_(now) {}

    /// Result: what to send. Requires: none is under way.
    [[nodiscard]] std::uint64_t begin(Time now);
    /// A pong has come. One with another number is passed over.
    void answered(std::uint64_t nonce, Time now);
    /// The time since the last ping is counted from `now` on. What the answer to one under way took is not
    /// known then.
    void restart(Time now);

    [[nodiscard]] bool under_way() const { return nonce_ != 0; }
    /// When the last ping was sent, or its time began anew.
    [[nodiscard]] Time last() const { return last_; }
    [[nodiscard]] const std::optional<Duration>& latest() const& { return latest_; }
    [[nodiscard]] const std::optional<Duration>& least() const& { return least_; }
    /// How long the answer has been waited for. Nothing where none is under way.
    [[nodiscard]] std::optional<Duration> waited(Time now) const;

 private:
    Time last_;
    std::uint64_t nonce_ = 0;  // 0: none under way
    bool measured_ = true;     // the one under way
    std::optional<Duration> latest_;
    std::optional<Duration> least_;
};

}  // namespace blockpub
