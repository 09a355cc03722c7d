// SPDX-License-Identifier: MIT
#include "source/p2p_upload.hpp"

#include "primitives/block.hpp"

#include <algorithm>

namespace blockpub {
namespace {

constexpr std::int64_t kBlockEvery = 10 * 60;

}  // namespace

void UploadTarget::add(std::uint64_t bytes, std::int64_t now) {
    if (began_ == 0 || now - began_ >= kCycle) {
        began_ = now;
        sent_ = 0;
    }
    sent_ += bytes;
}

std::int64_t UploadTarget::time_left(std::int64_t now) const {
    if (limit_ == 0) return 0;
    if (began_ == 0) return kCycle;
    return std::clamp<std::int64_t>(began_ + kCycle - now, 0, kCycle);
}

std::uint64_t UploadTarget::sent(std::int64_t now) const {
    return began_ != 0 && now - began_ < kCycle ? sent_ : 0;
}

bool UploadTarget::reached(std::int64_t now) const {
    return limit_ != 0 && sent(now) >= limit_;
}

bool UploadTarget::history_reached(std::int64_t now) const {
    if (limit_ == 0) return false;
    const std::uint64_t kept = static_cast<std::uint64_t>(time_left(now) / kBlockEvery) * kMaxBlockSize;
    return kept >= limit_ || sent(now) >= limit_ - kept;
}

PeerList::Upload UploadTarget::shown(std::int64_t now) const {
    return {.target = limit_,
            .reached = reached(now),
            .serves_history = !history_reached(now),
            .bytes_left = limit_ - std::min(limit_, sent(now)),
            .time_left = time_left(now)};
}

}  // namespace blockpub
