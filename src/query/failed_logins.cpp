// SPDX-License-Identifier: MIT
#include "query/failed_logins.hpp"

#include <utility>

namespace blockpub {

std::optional<std::uint64_t> FailedLogins::note(Time now) {
    const MutexLock lock(mutex_);
    if (!window_start_ || now - *window_start_ >= kWindow) {
        window_start_ = now;
        lines_ = 0;
    }
    if (lines_ == kLines) {
        ++left_out_;
        return std::nullopt;
    }
    ++lines_;
    return std::exchange(left_out_, 0);
}

}  // namespace blockpub
