// SPDX-License-Identifier: MIT
#include "bus/bus_state.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace blockpub {

BusState::BusState(const BusOptions& options)
    : memory_limit_(options.memory_limit),
      log_(options.log),
      logger_(options.logger, LogCategory::bus),
      window_(options.next_index),
      next_index_(options.next_index) {}

void BusState::release(std::span<const EventRecord> records) {
    if (records.empty() || stopped()) return;
    std::vector<PlacedEvent> events;
    events.reserve(records.size() * 2);
    EventIndex index = next_index();
    for (const EventRecord& record : records) {
        BLOCKPUB_CHECK(record.index == index, "record {} released where {} was due", record.index, index);
        ++index;
        for (PlacedEvent& event : events_of(record)) events.push_back(std::move(event));
    }
    append_and_notify(std::move(events), records.size());
    logger_.debug("released events {} to {}; {} readers, {} bytes held for them", records.front().index,
                  records.back().index, cursor_count(), bytes());
}

void BusState::release(Event event) {
    std::vector<PlacedEvent> events;
    events.push_back({std::make_shared<const Event>(std::move(event)), std::nullopt});
    append_and_notify(std::move(events), 0);
}

void BusState::append_and_notify(std::vector<PlacedEvent> events, EventIndex records) {
    Garbage garbage;
    {
        MutexLock lock(mutex_);
        if (stopped_) return;
        next_index_ += records;
        for (PlacedEvent& event : events) {
            if (cursors_.empty()) {
                window_.pass(event);
            } else {
                window_.push(std::move(event));
            }
        }
        trim_locked(garbage);
    }
    notify_cursors();
}

EventIndex BusState::next_index() const {
    MutexLock lock(mutex_);
    return next_index_;
}

std::size_t BusState::bytes() const {
    MutexLock lock(mutex_);
    return window_.bytes();
}

void BusState::stop() {
    {
        MutexLock lock(mutex_);
        stopped_ = true;
        settled_.notify_all();
    }
    notify_cursors();
}

bool BusState::stopped() const {
    MutexLock lock(mutex_);
    return stopped_;
}

std::size_t BusState::cursor_count() const {
    MutexLock lock(mutex_);
    return cursors_.size();
}

std::uint64_t BusState::end() const {
    MutexLock lock(mutex_);
    return window_.end();
}

bool BusState::wait_until_at(std::uint64_t position, std::chrono::milliseconds timeout) {
    // Beyond a year the deadline would overflow the clock.
    const auto deadline = std::chrono::steady_clock::now() +
                          std::min<std::chrono::milliseconds>(timeout, std::chrono::hours(24 * 365));
    MutexLock lock(mutex_);
    ++waiters_;
    bool in_time = true;
    while (!drained_locked(position) && !stopped_ && in_time) in_time = settled_.wait_until(mutex_, deadline);
    --waiters_;
    return drained_locked(position);
}

bool BusState::drained_locked(std::uint64_t position) const {
    return std::ranges::all_of(cursors_, [&](const auto& place) { return place->position >= position; });
}

std::shared_ptr<CursorPlace> BusState::open(std::function<void()> notify) {
    MutexLock lock(mutex_);
    auto place = std::make_shared<CursorPlace>(std::move(notify));
    place->position = window_.end();
    place->next_key = record_key(next_index_);
    place->mempool_seen = window_.mempool_end();
    cursors_.push_back(place);
    return place;
}

void BusState::close(CursorPlace& place) {
    Garbage garbage;
    MutexLock lock(mutex_);
    std::erase_if(cursors_, [&](const auto& other) { return other.get() == &place; });
    // Before the wait, which gives up the lock: without cursors the window must be empty.
    trim_locked(garbage);
    settled_.notify_all();
    while (place.notifying != 0) settled_.wait(mutex_);
}

BusState::Next BusState::next(CursorPlace& place) {
    MutexLock lock(mutex_);
    rejoin_locked(place);
    Next next;
    if (place.position < window_.begin()) {
        next.first = place.next_key;
        next.end = window_.first_key();
    } else if (place.position < window_.end()) {
        next.event = window_.at(place.position);
        place.holding = true;
        place.holding_logged = next.event.following.has_value();
    }
    return next;
}

void BusState::passed(CursorPlace& place, const PlacedEvent& event, bool from_log) {
    Garbage garbage;
    MutexLock lock(mutex_);
    place.holding = false;
    if (!from_log) ++place.position;
    if (event.following) {
        place.next_key = *event.following;
    } else {
        ++place.mempool_seen;
    }
    rejoin_locked(place);
    if (place.position <= window_.begin() + 1) trim_locked(garbage);
    if (waiters_ != 0) settled_.notify_all();
}

void BusState::rejoin_locked(CursorPlace& place) {
    // An event in the cursor's hands has been given up by the window, but not lost.
    if (place.holding || place.position >= window_.begin() || place.next_key < window_.first_key()) return;
    place.mempool_lost += window_.mempool_before() - place.mempool_seen;
    place.mempool_seen = window_.mempool_before();
    place.position = window_.begin();
    if (waiters_ != 0) settled_.notify_all();
}

void BusState::trim_locked(Garbage& garbage) {
    std::uint64_t needed = std::numeric_limits<std::uint64_t>::max();
    for (const auto& place : cursors_) needed = std::min(needed, place->position);
    while (!window_.empty() &&
           (window_.begin() < needed || (log_ != nullptr && window_.bytes() > memory_limit_))) {
        garbage.push_back(window_.pop());
    }
}

EventIndex BusState::next_index(const CursorPlace& place) const {
    MutexLock lock(mutex_);
    return next_record(place.next_key);
}

std::uint64_t BusState::mempool_lost(const CursorPlace& place) const {
    MutexLock lock(mutex_);
    const bool behind = place.position < window_.begin();
    if (!behind) return place.mempool_lost;
    const bool held = place.holding && !place.holding_logged;
    return place.mempool_lost + window_.mempool_before() - place.mempool_seen - (held ? 1 : 0);
}

void BusState::notify_cursors() {
    std::vector<std::shared_ptr<CursorPlace>> places;
    {
        MutexLock lock(mutex_);
        places = cursors_;
        for (const auto& place : places) ++place->notifying;
    }
    for (const auto& place : places) {
        try {
            if (place->notify) place->notify();
        } catch (...) {
            logger_.error("a subscriber's wake-up threw");
        }
        MutexLock lock(mutex_);
        --place->notifying;
        settled_.notify_all();
    }
}

}  // namespace blockpub
