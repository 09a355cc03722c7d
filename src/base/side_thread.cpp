// SPDX-License-Identifier: MIT
#include "base/side_thread.hpp"

#include "base/check.hpp"
#include "base/thread.hpp"

#include <system_error>
#include <utility>

namespace blockpub {

SideThread::~SideThread() {
    wait();
    {
        const MutexLock lock(mutex_);
        stopping_ = true;
        changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
}

bool SideThread::try_start(std::function<void()> work) {
    if (!thread_.joinable()) {
        try {
            thread_ = start_thread(name_, [this](const std::stop_token&) { run(); });
        } catch (const std::system_error&) {
            return false;
        }
    }
    const MutexLock lock(mutex_);
    BLOCKPUB_CHECK(!work_, "{}: work is under way", name_);
    work_ = std::move(work);
    changed_.notify_all();
    return true;
}

void SideThread::wait() {
    const MutexLock lock(mutex_);
    while (work_) changed_.wait(mutex_);
}

void SideThread::run() {
    MutexLock lock(mutex_);
    while (true) {
        while (!work_ && !stopping_) changed_.wait(mutex_);
        if (!work_) return;
        const std::function<void()> work = work_;
        lock.unlock();
        work();
        lock.lock();
        work_ = nullptr;
        changed_.notify_all();
    }
}

}  // namespace blockpub
