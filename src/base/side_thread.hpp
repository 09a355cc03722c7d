// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"

#include <functional>
#include <string>
#include <thread>

namespace blockpub {

/// Runs one piece of work at a time beside its owner, on a thread that begins with the first of them.
///
/// Thread safety: one thread, the owner's; the work must not throw.
/// Blocking: `wait` and the destructor wait for the work under way.
class SideThread {
 public:
    /// `name`: of the thread, 15 characters at most.
    explicit SideThread(std::string name) : name_(std::move(name)) {}
    ~SideThread();
    SideThread(const SideThread&) = delete;
    SideThread& operator=(const SideThread&) = delete;

    /// Result: false when no thread is to be had; `work` is not run then. Requires: what was started before
    /// has been waited for.
    [[nodiscard]] bool try_start(std::function<void()> work) BLOCKPUB_EXCLUDES(mutex_);
    /// Returns when nothing is under way; all that the work did is seen from then on.
    void wait() BLOCKPUB_EXCLUDES(mutex_);

 private:
    void run() BLOCKPUB_EXCLUDES(mutex_);

    const std::string name_;
    Mutex mutex_;
    CondVar changed_;
    std::function<void()> work_ BLOCKPUB_GUARDED_BY(mutex_);  // empty: nothing under way
    bool stopping_ BLOCKPUB_GUARDED_BY(mutex_) = false;
    std::jthread thread_;  // last: its function uses the members above
};

}  // namespace blockpub
