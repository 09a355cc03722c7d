// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/events.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace blockpub {

/// Place among the events that the log can tell again: twice a record's index for the record itself, one more
/// for the tip update behind it. Mempool events have none.
using LogKey = std::uint64_t;

[[nodiscard]] constexpr LogKey record_key(EventIndex index) noexcept {
    return 2 * index;
}
/// Index of the first record at or behind `key`.
[[nodiscard]] constexpr EventIndex next_record(LogKey key) noexcept {
    return (key + 1) / 2;
}

/// An event and where the order goes on behind it.
struct PlacedEvent {
    std::shared_ptr<const Event> event;
    std::optional<LogKey>
        following;  ///< key of the next event that is in the log; nothing for mempool events
};

/// The events that one record stands for, the record's own first.
[[nodiscard]] std::vector<PlacedEvent> events_of(const EventRecord& record);

/// The recent events, oldest first, each at a position that counts all events ever released.
///
/// Thread safety: none; the bus guards it.
/// Units: bytes are what the events hold, their transactions included.
class EventWindow {
 public:
    explicit EventWindow(EventIndex next_index) : first_key_(record_key(next_index)) {}

    void push(PlacedEvent event);
    /// Removes the oldest event and returns it, so that it can be destroyed where no lock is held.
    [[nodiscard]] PlacedEvent pop();
    /// Counts an event that nobody wants, as push and pop would. Requires: empty().
    void pass(const PlacedEvent& event);

    [[nodiscard]] bool empty() const { return entries_.empty(); }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    /// Position of the oldest event held.
    [[nodiscard]] std::uint64_t begin() const { return begin_; }
    [[nodiscard]] std::uint64_t end() const { return begin_ + entries_.size(); }
    /// Key of the first log event that is held or still to come: everything before it is only in the log.
    [[nodiscard]] LogKey first_key() const { return first_key_; }
    /// Mempool events that are no longer held, of all time.
    [[nodiscard]] std::uint64_t mempool_before() const { return mempool_before_; }
    /// Mempool events of all time.
    [[nodiscard]] std::uint64_t mempool_end() const { return mempool_end_; }
    /// Requires: begin() <= position < end().
    [[nodiscard]] const PlacedEvent& at(std::uint64_t position) const;

 private:
    void drop(const PlacedEvent& event);

    std::deque<PlacedEvent> entries_;
    std::size_t bytes_ = 0;
    std::uint64_t begin_ = 0;
    LogKey first_key_;
    std::uint64_t mempool_before_ = 0;
    std::uint64_t mempool_end_ = 0;
};

}  // namespace blockpub
