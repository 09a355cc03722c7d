// SPDX-License-Identifier: MIT
#include "store/janitor.hpp"

#include "base/thread.hpp"

namespace blockpub {

Janitor::Janitor() : thread_(start_thread("store-janitor", [this](const std::stop_token&) { run(); })) {}

Janitor::~Janitor() {
    stop();
}

void Janitor::dispose(std::unique_ptr<Disposable> object) {
    const MutexLock lock(mutex_);
    if (!stopped_) {
        queue_.push_back(std::move(object));
        changed_.notify_one();
    }
    // Else the object goes with the parameter, after the lock.
}

void Janitor::stop() {
    {
        const MutexLock lock(mutex_);
        stopped_ = true;
        changed_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
}

void Janitor::run() {
    std::vector<std::unique_ptr<Disposable>> batch;
    for (;;) {
        batch.clear();
        const MutexLock lock(mutex_);
        while (queue_.empty() && !stopped_) changed_.wait(mutex_);
        if (queue_.empty()) return;
        batch.swap(queue_);
    }
}

}  // namespace blockpub
