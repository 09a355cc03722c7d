// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "chain/chain.hpp"
#include "primitives/work.hpp"

#include <chrono>
#include <optional>
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
        note_trouble_locked();
    }
    /// Empty when reading works again.
    void set_read_error(std::string error) BLOCKPUB_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        view_.status.read_error = std::move(error);
        note_trouble_locked();
    }
    void set_pruned_to(std::optional<Height> height) BLOCKPUB_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        view_.status.pruned_to = height;
    }
    void set_start(bool coins_missing, std::optional<ChainStatus::Filling> filling)
        BLOCKPUB_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        view_.status.coins_missing = coins_missing;
        view_.status.filling = filling;
    }
    /// Empty when the chain follows the best branch.
    void set_unreachable(std::string reason) BLOCKPUB_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        view_.status.unreachable = std::move(reason);
    }
    void set_halted(std::string reason) BLOCKPUB_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        view_.status.halted = std::move(reason);
    }
    /// What the chain thread is held up by, and since when.
    struct Trouble {
        std::string reason;
        std::chrono::steady_clock::time_point since;
    };
    [[nodiscard]] std::optional<Trouble> trouble() const BLOCKPUB_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        if (!trouble_since_) return std::nullopt;
        const bool writing = !view_.status.write_error.empty();
        return Trouble{
            writing ? "cannot write: " + view_.status.write_error : "cannot read: " + view_.status.read_error,
            *trouble_since_};
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
    void note_trouble_locked() BLOCKPUB_REQUIRES(mutex_) {
        if (view_.status.write_error.empty() && view_.status.read_error.empty()) {
            trouble_since_.reset();
        } else if (!trouble_since_) {
            trouble_since_ = std::chrono::steady_clock::now();
        }
    }

    mutable Mutex mutex_;
    std::optional<std::chrono::steady_clock::time_point> trouble_since_ BLOCKPUB_GUARDED_BY(mutex_);
    View view_ BLOCKPUB_GUARDED_BY(mutex_);
    ImportCounters import_ BLOCKPUB_GUARDED_BY(mutex_);
};

}  // namespace blockpub
