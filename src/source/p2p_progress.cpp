// SPDX-License-Identifier: MIT
#include "source/p2p_progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace blockpub {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t kBehind = 24;  // blocks; fewer are the ordinary course of things
constexpr seconds kRateOver{30};
constexpr seconds kLagging{60};  // behind for so long at the tip is told, and again after
constexpr seconds kLaggingAgain{600};

seconds whole_seconds(std::optional<FollowProgress::Time> since, FollowProgress::Time now) {
    return since ? std::chrono::duration_cast<seconds>(now - *since) : seconds(0);
}

void keep_since(std::optional<FollowProgress::Time>& since, bool holds, FollowProgress::Time now) {
    if (!holds) since.reset();
    if (holds && !since) since = now;
}

}  // namespace

std::string FollowProgress::line(const State& state, Time now) {
    samples_.push_back({now, state.height, bytes_});
    while (samples_.size() > 2 && now - samples_.front().time > kRateOver) samples_.pop_front();
    const Sample& first = samples_.front();
    const double span = std::chrono::duration<double>(now - first.time).count();
    const double blocks = span > 0 ? static_cast<double>(state.height - first.height) / span : 0;
    const double bytes = span > 0 ? static_cast<double>(bytes_ - first.bytes) / span : 0;
    const std::uint64_t best = std::max<std::uint64_t>({state.best_header, state.height, 1});
    std::string text =
        fmt::format("Following: height {} of {} ({:.1f}%), {:.0f} blocks/s, {:.1f} MB/s, {} peers",
                    state.height, best, 100.0 * static_cast<double>(state.height) / static_cast<double>(best),
                    blocks, bytes / 1e6, state.peers);
    if (state.presync != 0) text += fmt::format(", headers looked at up to {}", state.presync);
    return text;
}

void FollowProgress::say_caught_up(const State& state) {
    behind_ = false;
    samples_.clear();
    // A chain with more work may be shorter than the one that was left.
    const std::uint64_t blocks = state.height > caught_up_from_ ? state.height - caught_up_from_ : 0;
    log_.info("Following: caught up at height {}, {} blocks later", state.height, blocks);
    if (sink_ != nullptr && shown_) sink_->show("");
    shown_ = false;
}

/// Without peers nobody knows how long their chains have become: what was known last counts.
void FollowProgress::measure(const State& state, Time now) {
    if (state.peers != 0) lag_.best_height = state.best_header;
    lag_.nodes = state.nodes;
    lag_.connected = state.peers;
    lag_.blocks = lag_.best_height > state.height ? lag_.best_height - state.height : 0;
    keep_since(behind_since_, lag_.blocks != 0, now);
    keep_since(alone_since_, state.peers == 0 && state.nodes != 0, now);
    lag_.behind_for = whole_seconds(behind_since_, now);
    lag_.alone_for = whole_seconds(alone_since_, now);
}

void FollowProgress::say_lagging(const State& state, Time now) {
    if (lag_.behind_for < kLagging || now < next_lag_line_) return;
    next_lag_line_ = now + kLaggingAgain;
    log_.warning("Following: {} blocks behind for {} s, at height {} of {}, {} peers", lag_.blocks,
                 lag_.behind_for.count(), state.height, state.best_header, state.peers);
}

void FollowProgress::tick(const State& state, Time now) {
    measure(state, now);
    if (state.peers == 0) {
        if (sink_ != nullptr && shown_)
            sink_->show(fmt::format("Following: height {}, no node is connected", state.height));
        return;
    }
    const bool looking = state.presync != 0;
    if (state.height >= state.best_header && !looking) {
        if (behind_) say_caught_up(state);
        return;
    }
    if (!behind_ && !looking && state.best_header - state.height < kBehind) return say_lagging(state, now);
    if (!behind_) {
        behind_ = true;
        caught_up_from_ = state.height;
        next_line_ = now;
    }
    if (samples_.empty() || state.height < samples_.front().height)
        samples_.assign(1, {now, state.height, bytes_});
    const std::string text = line(state, now);
    if (sink_ != nullptr) sink_->show(text);
    shown_ = true;
    if (now < next_line_) return;
    next_line_ = now + every_;
    log_.info("{}", text);
}

}  // namespace blockpub
