// SPDX-License-Identifier: MIT
#include "daemon/line_limiter.hpp"

#include <functional>

namespace blockpub {

LineLimiter::Verdict LineLimiter::admit(std::string_view line, Time now) {
    const std::size_t hash = std::hash<std::string_view>{}(line);
    const auto found = by_hash_.find(hash);
    if (found == by_hash_.end()) {
        if (entries_.size() == kLinesRemembered) {
            by_hash_.erase(entries_.front().hash);
            entries_.pop_front();
        }
        by_hash_[hash] = entries_.insert(entries_.end(), Entry{hash, now, 1});
        return {};
    }
    const auto entry = found->second;
    if (now - entry->window_start < kWindow) {
        ++entry->seen;
        return {entry->seen <= kLinesPerWindow, entry->seen == kLinesPerWindow, 0};
    }
    const std::uint64_t left_out = entry->seen > kLinesPerWindow ? entry->seen - kLinesPerWindow : 0;
    *entry = Entry{hash, now, 1};
    entries_.splice(entries_.end(), entries_, entry);
    return {true, false, left_out};
}

}  // namespace blockpub
