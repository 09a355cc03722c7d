// SPDX-License-Identifier: MIT
#pragma once

#include "base/log.hpp"
#include "chain/monitor.hpp"
#include "chain/step_changes.hpp"

#include <blockpub/bus.hpp>
#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <chrono>
#include <vector>

namespace blockpub {

/// How the chain thread waits before it tries again what failed.
/// Thread safety: called on the chain thread, which holds the chain lock; given up while it waits.
class RetryWait {
 public:
    virtual ~RetryWait() = default;
    /// Result: false, at once, when there is no more time to try again (shutting down).
    [[nodiscard]] virtual bool wait(std::chrono::milliseconds time) = 0;
};

/// Time from one attempt to the next, doubled each time.
struct RetryTimes {
    std::chrono::milliseconds next;
    std::chrono::milliseconds longest;
    std::chrono::milliseconds take() {
        const auto now = next;
        next = std::min(next * 2, longest);
        return now;
    }
};

/// Shows steps to readers, commits them, and then releases their events: in this order, whatever happens.
///
/// Thread safety: chain thread only; the monitor is for the others.
/// Ownership: borrows all that it is made with.
/// Blocking: `commit` syncs the disk, and waits while the disk is full or refuses writes.
class StepWriter {
 public:
    StepWriter(const ChainOptions& options, RetryWait& wait, ChainMonitor& monitor, EventIndex durable);

    /// Shows the changes to readers; they are written with the next commit.
    void add(StepChanges::Taken changes);
    /// Releases mempool events behind all that was added: at once where nothing waits for a commit.
    void release_mempool(std::vector<MempoolEvent> events);
    /// There is something that a commit would write.
    [[nodiscard]] bool dirty() const;
    /// In bulk: as much has been gathered as a commit shall carry, or for as long as events may be held back.
    [[nodiscard]] bool commit_due() const;
    /// When held events must be committed at the latest. Requires: dirty().
    [[nodiscard]] std::chrono::steady_clock::time_point commit_deadline() const;
    /// Commits and releases. A write that the system refuses is tried again, with nothing released meanwhile.
    /// Errors: outcome_unknown (sticky); the last error of the store when RetryWait gives up: nothing is lost
    /// or released then, and the call may be repeated.
    [[nodiscard]] Result<void> commit() { return commit_by(&Store::commit); }
    /// As commit, but what the store can make again may stay dirty; see Store::commit_step.
    [[nodiscard]] Result<void> commit_step() { return commit_by(&Store::commit_step); }

 private:
    [[nodiscard]] Result<void> commit_by(Result<void> (Store::*write)());
    void cache(const std::vector<BlockCache::Item>& parts, const std::vector<BlockHash>& gone);
    void release();

    Store& store_;
    Bus& bus_;
    BlockCache* const cache_;  // may be null
    RetryWait& wait_;
    ChainMonitor& monitor_;
    const Log log_;
    const std::uint64_t bulk_bytes_;
    const RetryTimes retry_times_;
    std::vector<PendingRelease> releases_;  // applied, not committed
    EventIndex durable_;
    bool applied_ = false;
    std::chrono::steady_clock::time_point oldest_;  // when the first of what is applied came; while applied_
};

}  // namespace blockpub
