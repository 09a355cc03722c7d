// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace blockpub {

/// Threads for calls that wait for something, started when first needed, at most so many.
///
/// Thread safety: every method from any thread, but not from a task.
/// Ownership: owns its threads; the destructor waits for the tasks under way and drops those not begun.
/// Blocking: run never waits. The queue is as long as there are callers, who each wait for their own task.
/// Errors: a task must not throw.
class WorkerPool {
 public:
    WorkerPool(std::string thread_name, std::size_t max_threads);
    ~WorkerPool();
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

    /// Queues a task. Tasks begin in the order of the calls.
    void run(std::function<void()> task) BLOCKPUB_EXCLUDES(mutex_);
    /// Drops the tasks that have not begun; later ones are dropped too.
    void stop() BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] std::size_t waiting() const BLOCKPUB_EXCLUDES(mutex_);

 private:
    void serve() BLOCKPUB_EXCLUDES(mutex_);

    const std::string thread_name_;
    const std::size_t max_threads_;
    mutable Mutex mutex_;
    CondVar changed_;
    std::deque<std::function<void()>> queue_ BLOCKPUB_GUARDED_BY(mutex_);
    std::vector<std::jthread> threads_ BLOCKPUB_GUARDED_BY(mutex_);
    std::size_t idle_ BLOCKPUB_GUARDED_BY(mutex_) = 0;
    bool stopped_ BLOCKPUB_GUARDED_BY(mutex_) = false;
};

}  // namespace blockpub
