// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"

#include <chrono>

namespace blockpub {

/// The wish that the process end, from whomever it comes: a signal, the RPC `stop`, work that is done.
/// Thread safety: every method from any thread.
class StopRequest {
 public:
    void request() BLOCKPUB_EXCLUDES(mutex_) {
        MutexLock lock(mutex_);
        requested_ = true;
        changed_.notify_all();
    }
    [[nodiscard]] bool requested() const BLOCKPUB_EXCLUDES(mutex_) {
        MutexLock lock(mutex_);
        return requested_;
    }
    /// Result: whether it was requested before the deadline.
    [[nodiscard]] bool wait_until(std::chrono::steady_clock::time_point deadline) BLOCKPUB_EXCLUDES(mutex_) {
        MutexLock lock(mutex_);
        while (!requested_) {
            if (!changed_.wait_until(mutex_, deadline)) break;
        }
        return requested_;
    }

 private:
    mutable Mutex mutex_;
    CondVar changed_;
    bool requested_ BLOCKPUB_GUARDED_BY(mutex_) = false;
};

}  // namespace blockpub
