// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <blockpub/events.hpp>
#include <blockpub/export.hpp>
#include <blockpub/logger.hpp>
#include <blockpub/result.hpp>

namespace blockpub {

/// Reads the durable event log; what the bus catches up from when a subscriber is far behind.
///
/// Thread safety: called from subscriber threads, concurrently. Blocking: reads the disk.
class BLOCKPUB_API EventLog {
   public:
    virtual ~EventLog() = default;
    /// Up to `limit` records from `first` on; empty when `first` is beyond the durable end.
    [[nodiscard]] virtual Result<std::vector<EventRecord>> read_events(EventIndex first, std::size_t limit) = 0;
};

/// Receives the events of a subscription.
///
/// Calls come one at a time, on the subscription's own thread, in the order of generation.
/// A handler that throws is logged and counted, and gets the next event all the same; one that blocks delays
/// nobody but itself.
class BLOCKPUB_API EventHandler {
   public:
    virtual ~EventHandler() = default;
    virtual void on_event(const Event& event) = 0;
};

class BusState;

/// A registration. Destroying it guarantees that no later call comes: it waits for a call that is under way.
/// Destroying it from its own handler could only wait for itself: that is a bug, and ends the process.
///
/// Thread safety: the const methods from any thread; moving and destroying from one.
/// Errors: a log that cannot be read is tried again, with growing pauses, until it can or the subscription ends.
class BLOCKPUB_API Subscription {
   public:
    Subscription() = default;
    Subscription(Subscription&&) noexcept;
    Subscription& operator=(Subscription&&) noexcept;
    ~Subscription();

    /// Index of the log record that will be delivered next, when no event is under way.
    [[nodiscard]] EventIndex next_index() const;
    /// Mempool events given up because this subscriber was too far behind.
    [[nodiscard]] std::uint64_t mempool_events_lost() const;
    /// Exceptions that the handler threw.
    [[nodiscard]] std::uint64_t handler_failures() const;

   private:
    friend class Bus;
    struct Impl;
    explicit Subscription(std::unique_ptr<Impl>);
    std::unique_ptr<Impl> impl_;
};

/// A source of events for a thread that the caller owns (a publisher has a socket to serve as well).
///
/// Thread safety: one thread at a time, but for wake-ups, which the bus gives by calling the `notify` function from
/// the issuer's thread. No wake-up comes once the cursor is destroyed (which must not be done by `notify` itself).
/// Blocking: `peek` reads the log where the bus has given up what comes next; nothing waits for an event.
class BLOCKPUB_API EventCursor {
   public:
    virtual ~EventCursor() = default;
    /// The next event, or nothing when there is none yet. Does not advance: the same event comes again until
    /// `advance()`. Errors: the log could not be read; try again.
    [[nodiscard]] virtual Result<const Event*> peek() = 0;
    /// Gives up the event that `peek` returned.
    virtual void advance() = 0;
    /// Index of the log record that comes next.
    [[nodiscard]] virtual EventIndex next_index() const = 0;
    [[nodiscard]] virtual std::uint64_t mempool_events_lost() const = 0;
};

struct BusOptions {
    /// Bytes of recent events held in memory for all subscribers together. Beyond it the oldest are given up: block
    /// events and tip updates are then read back from the log, mempool events are lost to who had not had them.
    std::size_t memory_limit = std::size_t{64} << 20;
    /// The log behind the bus; may be null where nothing needs to be read back (then nothing is given up).
    EventLog* log = nullptr;
    /// Index of the first record that will be released.
    EventIndex next_index = 0;
    Logger* logger = nullptr;
};

/// Gives all events one order, that of their generation, to every subscriber.
///
/// The issuer releases what is durable; subscribers follow with cursors of their own. Nothing is copied per
/// subscriber, and nobody waits for anybody.
///
/// Thread safety: `release_*` from one thread at a time (the issuer's); everything else from any thread.
/// Ownership: borrows the EventLog and the Logger, which must outlive it. Subscriptions and cursors must be
/// destroyed before the bus.
/// Blocking: releasing never waits for a subscriber.
class BLOCKPUB_API Bus {
   public:
    explicit Bus(BusOptions options);
    ~Bus();
    Bus(const Bus&) = delete;
    Bus& operator=(const Bus&) = delete;

    /// Releases durable records, in index order without a gap; a record with `step_end` is followed by its tip
    /// update (unless the step ended where it began). Requires: the records are in a synced commit.
    void release_blocks(std::span<const EventRecord> records);
    /// Releases a mempool addition or removal at this point of the order.
    void release_mempool(TransactionAddedToMempool event);
    void release_mempool(TransactionRemovedFromMempool event);

    /// Index after the last released record.
    [[nodiscard]] EventIndex next_index() const;

    /// Calls `handler` on a thread named `name`, beginning with what is released from now on.
    /// Ownership: borrows the handler, which must outlive the subscription.
    [[nodiscard]] Subscription subscribe(std::string name, EventHandler& handler);

    /// A cursor for a thread of the caller's, beginning with what is released from now on. `notify` is called (on
    /// the issuer's thread, without a lock held) when something was released; it must not block.
    [[nodiscard]] std::unique_ptr<EventCursor> open_cursor(std::function<void()> notify);

    /// Waits until every subscription and cursor has handled all that was released before the call.
    /// Result: false when `timeout_ms` passed first.
    [[nodiscard]] bool wait_until_drained(std::uint64_t timeout_ms);
    /// The same for as long as it takes. `given_up` is asked about ten times a second.
    /// Result: false when that said so, or the bus was stopped, first.
    [[nodiscard]] bool drain(const std::function<bool()>& given_up);

    /// Bytes of events held for subscribers just now; 0 when nobody is behind.
    [[nodiscard]] std::size_t memory_used() const;

    /// Wakes every subscriber thread for its end; later events are not delivered. A cursor still gives what was
    /// released before.
    void stop();

   private:
    std::shared_ptr<BusState> state_;
};

}  // namespace blockpub
