// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"

#include <chrono>
#include <list>
#include <string_view>
#include <vector>

namespace blockpub {

/// The calls under way, for getrpcinfo.
/// Thread safety: every method from any thread.
class ActiveCalls {
 public:
    using Clock = std::chrono::steady_clock;
    struct Row {
        std::string_view method;  ///< of the method's table, which lives as long as the server
        Clock::time_point begun;
    };
    /// Counts a call while it lives.
    class Scope {
     public:
        Scope(ActiveCalls& calls, std::string_view method) : calls_(calls), place_(calls.add(method)) {}
        ~Scope() { calls_.remove(place_); }
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

     private:
        ActiveCalls& calls_;
        std::list<Row>::iterator place_;
    };

    /// In the order in which they began.
    [[nodiscard]] std::vector<Row> rows() const BLOCKPUB_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        return {rows_.begin(), rows_.end()};
    }

 private:
    std::list<Row>::iterator add(std::string_view method) BLOCKPUB_EXCLUDES(mutex_) {
        std::list<Row> row{{method, Clock::now()}};  // allocated without the lock
        const MutexLock lock(mutex_);
        const auto place = row.begin();
        rows_.splice(rows_.end(), row);
        return place;
    }
    void remove(std::list<Row>::iterator place) BLOCKPUB_EXCLUDES(mutex_) {
        std::list<Row> row;
        const MutexLock lock(mutex_);
        row.splice(row.begin(), rows_, place);
    }

    mutable Mutex mutex_;
    std::list<Row> rows_ BLOCKPUB_GUARDED_BY(mutex_);
};

}  // namespace blockpub
