// SPDX-License-Identifier: MIT
#include "bus/cursor.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace blockpub {
namespace {

/// Records fetched from the log at a time: what a cursor that catches up holds in memory.
constexpr EventIndex kFetchRecords = 256;

/// The one place where what an EventLog throws becomes an Error.
Result<std::vector<EventRecord>> read_log(EventLog& log, EventIndex first, EventIndex limit) {
    try {
        return log.read_events(first, static_cast<std::size_t>(limit));
    } catch (const std::exception& error) {
        return fail(Errc::io, fmt::format("the event log threw at record {}: {}", first, error.what()));
    }
}

}  // namespace

Result<const Event*> WindowCursor::peek() {
    while (!current_.event) {
        if (!fetched_.empty()) {
            current_ = std::move(fetched_.front());
            fetched_.pop_front();
            current_from_log_ = true;
            break;
        }
        BusState::Next next = state_->next(*place_);
        if (next.event.event) {
            current_ = std::move(next.event);
            current_from_log_ = false;
        } else if (next.first < next.end) {
            if (auto fetched = fetch(next.first, next.end); !fetched) return forward_error(fetched);
        } else {
            return nullptr;
        }
    }
    return current_.event.get();
}

void WindowCursor::advance() {
    BLOCKPUB_CHECK(current_.event != nullptr, "advance without an event from peek");
    const PlacedEvent passed = std::exchange(current_, PlacedEvent{});
    state_->passed(*place_, passed, current_from_log_);
}

Result<void> WindowCursor::fetch(LogKey first, LogKey end) {
    const EventIndex begin = first / 2;
    const EventIndex limit = std::min(kFetchRecords, next_record(end) - begin);
    auto records = read_log(*state_->log(), begin, limit);
    state_->logger().debug("events from {} on, at most {}, are read back from the disk", begin, limit);
    if (!records) return forward_error(records);
    if (records->empty())
        return fail(Errc::corrupt, fmt::format("the event log ends before record {}", begin));
    EventIndex due = begin;
    for (const EventRecord& record : *records) {
        if (record.index != due) {
            fetched_.clear();
            return fail(Errc::corrupt,
                        fmt::format("the event log has record {} where {} is due", record.index, due));
        }
        ++due;
        LogKey key = record_key(record.index);
        for (PlacedEvent& event : events_of(record)) {
            if (key >= first && key < end) fetched_.push_back(std::move(event));
            ++key;
        }
    }
    if (fetched_.empty()) {
        return fail(Errc::corrupt, fmt::format("the event log lacks the tip update behind record {}", begin));
    }
    return {};
}

}  // namespace blockpub
