// SPDX-License-Identifier: MIT
#pragma once

#include "bus/bus_state.hpp"

#include <blockpub/bus.hpp>

#include <deque>
#include <memory>

namespace blockpub {

/// The bus's EventCursor: the window where it reaches, the log where it does not.
/// Thread safety: as EventCursor; `detach` from the owning thread too.
class WindowCursor final : public EventCursor {
 public:
    WindowCursor(std::shared_ptr<BusState> state, std::function<void()> notify)
        : state_(std::move(state)), place_(state_->open(std::move(notify))) {}
    ~WindowCursor() override { detach(); }
    WindowCursor(const WindowCursor&) = delete;
    WindowCursor& operator=(const WindowCursor&) = delete;

    [[nodiscard]] Result<const Event*> peek() override;
    void advance() override;
    [[nodiscard]] EventIndex next_index() const override { return state_->next_index(*place_); }
    [[nodiscard]] std::uint64_t mempool_events_lost() const override { return state_->mempool_lost(*place_); }

    /// Gives up the place on the bus; the figures stay.
    void detach() { state_->close(*place_); }

 private:
    [[nodiscard]] Result<void> fetch(LogKey first, LogKey end);

    const std::shared_ptr<BusState> state_;
    const std::shared_ptr<CursorPlace> place_;
    PlacedEvent current_;  // what peek returned
    bool current_from_log_ = false;
    std::deque<PlacedEvent> fetched_;  // from the log, not yet taken
};

}  // namespace blockpub
