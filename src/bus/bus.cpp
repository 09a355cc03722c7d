// SPDX-License-Identifier: MIT
#include "base/check.hpp"
#include "bus/bus_state.hpp"
#include "bus/cursor.hpp"

#include <blockpub/bus.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace blockpub {

Bus::Bus(BusOptions options) : state_(std::make_shared<BusState>(options)) {}

Bus::~Bus() {
    state_->stop();
    BLOCKPUB_CHECK(state_->cursor_count() == 0, "{} subscriptions outlive their bus", state_->cursor_count());
}

void Bus::release_blocks(std::span<const EventRecord> records) {
    state_->release(records);
}

void Bus::release_mempool(TransactionAddedToMempool event) {
    state_->release(Event(std::move(event)));
}

void Bus::release_mempool(TransactionRemovedFromMempool event) {
    state_->release(Event(event));
}

EventIndex Bus::next_index() const {
    return state_->next_index();
}

std::unique_ptr<EventCursor> Bus::open_cursor(std::function<void()> notify) {
    return std::make_unique<WindowCursor>(state_, std::move(notify));
}

bool Bus::wait_until_drained(std::uint64_t timeout_ms) {
    constexpr auto kLongest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return state_->wait_until_at(state_->end(), std::chrono::milliseconds(std::min(timeout_ms, kLongest)));
}

bool Bus::drain(const std::function<bool()>& given_up) {
    constexpr std::chrono::milliseconds kPiece{100};
    const std::uint64_t end = state_->end();
    while (!state_->wait_until_at(end, kPiece)) {
        if (state_->stopped() || given_up()) return false;
    }
    return true;
}

std::size_t Bus::memory_used() const {
    return state_->bytes();
}

void Bus::stop() {
    state_->stop();
}

}  // namespace blockpub
