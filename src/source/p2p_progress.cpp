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
    log_.info("Following: caught up at height {}, {} blocks later", state.height,
              state.height - caught_up_from_);
    if (sink_ != nullptr && shown_) sink_->show("");
    shown_ = false;
}

void FollowProgress::tick(const State& state, Time now) {
    const bool looking = state.presync != 0;
    if (state.height >= state.best_header && !looking) {
        if (behind_) say_caught_up(state);
        return;
    }
    if (!behind_ && !looking && state.best_header - state.height < kBehind) return;
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
