// SPDX-License-Identifier: MIT
#include "bus/window.hpp"

#include "base/check.hpp"

#include <utility>

namespace blockpub {
namespace {

std::size_t bytes_of(const PlacedEvent& placed) {
    std::size_t bytes = sizeof(PlacedEvent) + sizeof(Event);
    if (const auto* added = std::get_if<TransactionAddedToMempool>(placed.event.get()))
        bytes += added->raw.size();
    return bytes;
}

UpdatedBlockTip tip_update_of(const EventRecord& record) {
    const bool connected = record.kind == BlockEventKind::connected;
    const Height parent = record.height.value == 0 ? record.height : record.height.previous();
    return UpdatedBlockTip{.last_index = record.index,
                           .tip_hash = connected ? record.hash : record.previous_hash,
                           .tip_height = connected ? record.height : parent,
                           .fork_hash = record.step_end->fork_hash,
                           .fork_height = record.step_end->fork_height,
                           .initial_download = record.step_end->initial_download};
}

}  // namespace

std::vector<PlacedEvent> events_of(const EventRecord& record) {
    std::vector<PlacedEvent> events;
    const LogKey key = record_key(record.index);
    const LogKey following = record.step_end ? key + 1 : key + 2;
    const auto push = [&](Event event) {
        events.push_back({std::make_shared<const Event>(std::move(event)), following});
    };
    switch (record.kind) {
        case BlockEventKind::connected:
            push(BlockConnected{record.index, record.hash, record.previous_hash, record.height});
            break;
        case BlockEventKind::disconnected:
            push(BlockDisconnected{record.index, record.hash, record.previous_hash, record.height});
            break;
        case BlockEventKind::pruned:
            push(BlocksPruned{record.index, record.hash, record.height});
            break;
    }
    if (record.step_end) events.push_back({std::make_shared<const Event>(tip_update_of(record)), key + 2});
    return events;
}

void EventWindow::push(PlacedEvent event) {
    bytes_ += bytes_of(event);
    if (!event.following) ++mempool_end_;
    entries_.push_back(std::move(event));
}

PlacedEvent EventWindow::pop() {
    BLOCKPUB_CHECK(!entries_.empty());
    PlacedEvent oldest = std::move(entries_.front());
    entries_.pop_front();
    bytes_ -= bytes_of(oldest);
    drop(oldest);
    return oldest;
}

void EventWindow::pass(const PlacedEvent& event) {
    BLOCKPUB_CHECK(entries_.empty());
    if (!event.following) ++mempool_end_;
    drop(event);
}

void EventWindow::drop(const PlacedEvent& event) {
    ++begin_;
    if (event.following) {
        first_key_ = *event.following;
    } else {
        ++mempool_before_;
    }
}

const PlacedEvent& EventWindow::at(std::uint64_t position) const {
    BLOCKPUB_CHECK(position >= begin() && position < end(), "{} not in [{}, {})", position, begin(), end());
    return entries_[position - begin_];
}

}  // namespace blockpub
