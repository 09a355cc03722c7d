// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

// Clang's thread-safety analysis; nothing elsewhere. libstdc++'s own mutexes are not annotated, hence ours.
#if defined(__clang__)
#define BLOCKPUB_ATTRIBUTE(x) __attribute__((x))
#else
#define BLOCKPUB_ATTRIBUTE(x)
#endif

#define BLOCKPUB_CAPABILITY(x) BLOCKPUB_ATTRIBUTE(capability(x))
#define BLOCKPUB_SCOPED_CAPABILITY BLOCKPUB_ATTRIBUTE(scoped_lockable)
#define BLOCKPUB_GUARDED_BY(x) BLOCKPUB_ATTRIBUTE(guarded_by(x))
#define BLOCKPUB_REQUIRES(...) BLOCKPUB_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define BLOCKPUB_EXCLUDES(...) BLOCKPUB_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define BLOCKPUB_ACQUIRE(...) BLOCKPUB_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define BLOCKPUB_RELEASE(...) BLOCKPUB_ATTRIBUTE(release_capability(__VA_ARGS__))
#define BLOCKPUB_TRY_ACQUIRE(...) BLOCKPUB_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define BLOCKPUB_ASSERT_CAPABILITY(x) BLOCKPUB_ATTRIBUTE(assert_capability(x))
#define BLOCKPUB_RETURN_CAPABILITY(x) BLOCKPUB_ATTRIBUTE(lock_returned(x))
#define BLOCKPUB_NO_THREAD_SAFETY_ANALYSIS BLOCKPUB_ATTRIBUTE(no_thread_safety_analysis)

namespace blockpub {

class CondVar;

/// A std::mutex that clang's analysis knows.
class BLOCKPUB_CAPABILITY("mutex") Mutex {
   public:
    void lock() BLOCKPUB_ACQUIRE() { mutex_.lock(); }
    void unlock() BLOCKPUB_RELEASE() { mutex_.unlock(); }
    [[nodiscard]] bool try_lock() BLOCKPUB_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
    /// For negative capabilities: BLOCKPUB_REQUIRES(!mutex_).
    const Mutex& operator!() const { return *this; }

   private:
    friend class CondVar;
    std::mutex mutex_;
};

/// Holds a Mutex for a scope; may be released and taken again within it.
class BLOCKPUB_SCOPED_CAPABILITY MutexLock {
   public:
    explicit MutexLock(Mutex& mutex) BLOCKPUB_ACQUIRE(mutex) : mutex_(&mutex), held_(true) { mutex.lock(); }
    ~MutexLock() BLOCKPUB_RELEASE() {
        if (held_) mutex_->unlock();
    }
    MutexLock(const MutexLock&) = delete;
    MutexLock& operator=(const MutexLock&) = delete;
    void unlock() BLOCKPUB_RELEASE() {
        mutex_->unlock();
        held_ = false;
    }
    void lock() BLOCKPUB_ACQUIRE() {
        mutex_->lock();
        held_ = true;
    }

   private:
    Mutex* mutex_;
    bool held_;
};

/// A condition variable for Mutex. Wait in a plain `while` loop: the analysis does not see into predicates.
class CondVar {
   public:
    void notify_one() noexcept { condition_.notify_one(); }
    void notify_all() noexcept { condition_.notify_all(); }

    void wait(Mutex& mutex) BLOCKPUB_REQUIRES(mutex) {
        std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
        condition_.wait(lock);
        lock.release();
    }
    /// Result: false when the deadline passed.
    template <class Clock, class Duration>
    bool wait_until(Mutex& mutex, const std::chrono::time_point<Clock, Duration>& deadline) BLOCKPUB_REQUIRES(mutex) {
        std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
        const auto status = condition_.wait_until(lock, deadline);
        lock.release();
        return status == std::cv_status::no_timeout;
    }

   private:
    std::condition_variable condition_;
};

/// A role that a thread plays, as a capability: BLOCKPUB_REQUIRES(chain_thread) on what only it may call.
class BLOCKPUB_CAPABILITY("role") ThreadRole {
   public:
    /// States that the calling thread has the role; put at the top of its entry function.
    void assert_held() const BLOCKPUB_ASSERT_CAPABILITY(this) {}
};

}  // namespace blockpub
