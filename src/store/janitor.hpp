// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"

#include <memory>
#include <thread>
#include <vector>

namespace blockpub {

/// Destroys things on a thread of its own: unmapping a gigabyte takes tens of milliseconds, which must not
/// fall on whoever happens to drop the last view.
///
/// Thread safety: every method from any thread.
/// Ownership: takes what it is given; kept alive by those who may still give (a view can outlive the store).
/// Blocking: `dispose` never; once stopped it destroys on the spot. The destructor waits for the queue.
class Janitor {
 public:
    /// Anything with a destructor.
    struct Disposable {
        virtual ~Disposable() = default;
    };

    Janitor();
    ~Janitor();
    Janitor(const Janitor&) = delete;
    Janitor& operator=(const Janitor&) = delete;

    void dispose(std::unique_ptr<Disposable> object) BLOCKPUB_EXCLUDES(mutex_);
    /// Destroys what is queued, then ends the thread.
    void stop() BLOCKPUB_EXCLUDES(mutex_);

 private:
    void run() BLOCKPUB_EXCLUDES(mutex_);

    Mutex mutex_;
    CondVar changed_;
    std::vector<std::unique_ptr<Disposable>> queue_ BLOCKPUB_GUARDED_BY(mutex_);
    bool stopped_ BLOCKPUB_GUARDED_BY(mutex_) = false;
    std::jthread thread_;  // last: its function uses the members above
};

}  // namespace blockpub
