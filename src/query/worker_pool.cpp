// SPDX-License-Identifier: MIT
#include "query/worker_pool.hpp"

#include "base/thread.hpp"

#include <utility>

namespace blockpub {

WorkerPool::WorkerPool(std::string thread_name, std::size_t max_threads)
    : thread_name_(std::move(thread_name)), max_threads_(max_threads) {}

WorkerPool::~WorkerPool() {
    stop();
    std::vector<std::jthread> threads;
    {
        MutexLock lock(mutex_);
        threads = std::move(threads_);
    }
    threads.clear();  // joins
}

void WorkerPool::run(std::function<void()> task) {
    MutexLock lock(mutex_);
    if (stopped_) return;
    queue_.push_back(std::move(task));
    if (queue_.size() > idle_ && threads_.size() < max_threads_) {
        threads_.push_back(start_thread(thread_name_, [this](const std::stop_token&) { serve(); }));
    }
    changed_.notify_one();
}

void WorkerPool::stop() {
    std::deque<std::function<void()>> dropped;
    {
        MutexLock lock(mutex_);
        stopped_ = true;
        dropped.swap(queue_);
    }
    changed_.notify_all();
}

std::size_t WorkerPool::waiting() const {
    MutexLock lock(mutex_);
    return queue_.size();
}

void WorkerPool::serve() {
    MutexLock lock(mutex_);
    while (true) {
        ++idle_;
        while (queue_.empty() && !stopped_) changed_.wait(mutex_);
        --idle_;
        if (stopped_) return;
        std::function<void()> task = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        task();
        task = nullptr;  // what it holds is let go without the lock
        lock.lock();
    }
}

}  // namespace blockpub
