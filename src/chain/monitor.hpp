// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "chain/chain.hpp"
#include "primitives/work.hpp"

#include <string>
#include <utility>

namespace blockpub {

/// What the chain thread tells others about itself: written there, copied from anywhere.
/// Thread safety: every method from any thread. Blocking: never for longer than a copy takes.
class ChainMonitor {
 public:
    /// A ChainStatus without what is asked at the moment of the copy: importing, initial_download.
    struct View {
        ChainStatus status;
        Uint256 tip_work;
    };

    void set_chain(const Tip& tip, std::int64_t tip_time, const Uint256& tip_work, const Tip& best_header)
        BLOCKPUB_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        view_.status.tip = tip;
        view_.status.tip_time = tip_time;
        view_.tip_work = tip_work;
        view_.status.best_header = best_header;
    }
    void set_durable(EventIndex next) BLOCKPUB_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        view_.status.durable_events = next;
    }
    /// Empty when writing works again.
    void set_write_error(std::string error) BLOCKPUB_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        view_.status.write_error = std::move(error);
    }
    void set_write_stopped(std::string error) BLOCKPUB_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        view_.status.write_error = std::move(error);
        view_.status.write_stopped = true;
    }
    [[nodiscard]] View view() const BLOCKPUB_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        return view_;
    }

    void set_import_counters(const ImportCounters& counters) BLOCKPUB_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        import_ = counters;
    }
    [[nodiscard]] ImportCounters import_counters() const BLOCKPUB_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        return import_;
    }

 private:
    mutable Mutex mutex_;
    View view_ BLOCKPUB_GUARDED_BY(mutex_);
    ImportCounters import_ BLOCKPUB_GUARDED_BY(mutex_);
};

}  // namespace blockpub
