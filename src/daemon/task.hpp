// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "base/thread.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <thread>

namespace blockpub {

/// A call that may take its time, on a thread of its own; others can wait for it for as long as they like.
/// Thread safety: every method from any thread.
/// Ownership: what the call uses must live until it has returned; the destructor waits for that.
class Task {
 public:
    Task(std::string name, std::function<void()> call)
        : thread_(start_thread(std::move(name), [this, call = std::move(call)](const std::stop_token&) {
              call();
              MutexLock lock(mutex_);
              done_ = true;
              changed_.notify_all();
          })) {}

    /// Result: whether the call has returned.
    [[nodiscard]] bool wait_until(std::chrono::steady_clock::time_point deadline) BLOCKPUB_EXCLUDES(mutex_) {
        MutexLock lock(mutex_);
        while (!done_) {
            if (!changed_.wait_until(mutex_, deadline)) break;
        }
        return done_;
    }

 private:
    Mutex mutex_;
    CondVar changed_;
    bool done_ BLOCKPUB_GUARDED_BY(mutex_) = false;
    std::jthread thread_;
};

}  // namespace blockpub
