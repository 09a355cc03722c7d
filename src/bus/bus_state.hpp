// SPDX-License-Identifier: MIT
#pragma once

#include "base/log.hpp"
#include "base/mutex.hpp"
#include "bus/window.hpp"

#include <blockpub/bus.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace blockpub {

/// How far one cursor is. Every member but the first is guarded by the mutex of the BusState it belongs to.
struct CursorPlace {
    const std::function<void()> notify;
    std::uint64_t position = 0;  ///< of the next event; before the window's begin when that has been given up
    LogKey next_key = 0;         ///< first log event not yet handled
    std::uint64_t mempool_seen = 0;  ///< mempool events handled or lost, of all time
    std::uint64_t mempool_lost = 0;
    bool holding = false;         ///< an event of the window has been taken, but not passed
    bool holding_logged = false;  ///< that event is in the log too
    unsigned notifying = 0;       ///< calls of `notify` under way
};

/// What the bus, its cursors and its subscriptions share: the window of recent events and every cursor's
/// place.
///
/// An event leaves the window as soon as every cursor is past it, or when the window holds more than its
/// limit and the log can tell it again. A cursor before the window reads the log up to the window's first key
/// and then goes on within it; the mempool events between are lost to it.
///
/// Thread safety: every method from any thread.
/// Blocking: only a short lock, never held over a call to others, a read of the log or the end of an event's
/// bytes.
class BusState {
 public:
    explicit BusState(const BusOptions& options);

    /// Appends the events of `records` in one go.
    void release(std::span<const EventRecord> records) BLOCKPUB_EXCLUDES(mutex_);
    /// Appends one mempool event.
    void release(Event event) BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] EventIndex next_index() const BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] std::size_t bytes() const BLOCKPUB_EXCLUDES(mutex_);
    void stop() BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] bool stopped() const BLOCKPUB_EXCLUDES(mutex_);
    /// Position behind the last event.
    [[nodiscard]] std::uint64_t end() const BLOCKPUB_EXCLUDES(mutex_);
    /// Waits until every cursor has come to a position. False: the time passed, or the bus was stopped,
    /// first.
    [[nodiscard]] bool wait_until_at(std::uint64_t position, std::chrono::milliseconds timeout)
        BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] std::size_t cursor_count() const BLOCKPUB_EXCLUDES(mutex_);

    [[nodiscard]] std::shared_ptr<CursorPlace> open(std::function<void()> notify) BLOCKPUB_EXCLUDES(mutex_);
    /// Forgets the cursor; no `notify` of it is called or under way afterwards. May be repeated.
    void close(CursorPlace& place) BLOCKPUB_EXCLUDES(mutex_);

    /// What a cursor gets next: an event of the window; or nothing, and the keys [first, end) that it has to
    /// fetch from the log (none when they are equal).
    struct Next {
        PlacedEvent event;
        LogKey first = 0;
        LogKey end = 0;
    };
    [[nodiscard]] Next next(CursorPlace& place) BLOCKPUB_EXCLUDES(mutex_);
    /// Moves the cursor behind an event of the window, or behind one that it fetched from the log.
    void passed(CursorPlace& place, const PlacedEvent& event, bool from_log) BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] EventIndex next_index(const CursorPlace& place) const BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] std::uint64_t mempool_lost(const CursorPlace& place) const BLOCKPUB_EXCLUDES(mutex_);

    [[nodiscard]] EventLog* log() const { return log_; }
    [[nodiscard]] const Log& logger() const { return logger_; }

 private:
    using Garbage = std::vector<PlacedEvent>;

    void append_and_notify(std::vector<PlacedEvent> events, EventIndex records) BLOCKPUB_EXCLUDES(mutex_);
    void rejoin_locked(CursorPlace& place) BLOCKPUB_REQUIRES(mutex_);
    void trim_locked(Garbage& garbage) BLOCKPUB_REQUIRES(mutex_);
    [[nodiscard]] bool drained_locked(std::uint64_t position) const BLOCKPUB_REQUIRES(mutex_);
    void notify_cursors() BLOCKPUB_EXCLUDES(mutex_);

    // Constant after construction.
    const std::size_t memory_limit_;
    EventLog* const log_;
    const Log logger_;

    mutable Mutex mutex_;
    CondVar settled_;  // a cursor moved on or went, or a call of notify returned
    EventWindow window_ BLOCKPUB_GUARDED_BY(mutex_);
    std::vector<std::shared_ptr<CursorPlace>> cursors_ BLOCKPUB_GUARDED_BY(mutex_);
    EventIndex next_index_ BLOCKPUB_GUARDED_BY(mutex_);
    unsigned waiters_ BLOCKPUB_GUARDED_BY(mutex_) = 0;
    bool stopped_ BLOCKPUB_GUARDED_BY(mutex_) = false;
};

}  // namespace blockpub
