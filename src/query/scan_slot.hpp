// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"

#include <atomic>
#include <optional>

namespace blockpub {

/// The place of the one scan that may be under way, through which others follow and end it.
/// Thread safety: every method from any thread.
class ScanSlot {
 public:
    /// Takes the place. Result: false when it is taken.
    [[nodiscard]] bool try_take() BLOCKPUB_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        if (taken_) return false;
        taken_ = true;
        percent_ = 0;
        aborted_ = false;
        return true;
    }
    void give_back() BLOCKPUB_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        taken_ = false;
    }
    /// How far the scan is, in percent; nothing when there is none.
    [[nodiscard]] std::optional<int> percent() const BLOCKPUB_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        return taken_ ? std::optional<int>(percent_.load()) : std::nullopt;
    }
    /// Asks the scan to end. Result: false when there is none.
    [[nodiscard]] bool abort() BLOCKPUB_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        if (taken_) aborted_ = true;
        return taken_;
    }

    // For the scan itself.
    void set_percent(int percent) { percent_ = percent; }
    [[nodiscard]] bool aborted() const { return aborted_; }

 private:
    mutable Mutex mutex_;
    bool taken_ BLOCKPUB_GUARDED_BY(mutex_) = false;
    std::atomic<int> percent_{0};
    std::atomic<bool> aborted_{false};
};

}  // namespace blockpub
