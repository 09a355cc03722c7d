// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"

#include <blockpub/bus.hpp>
#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

namespace blockpub {

/// Waits until the tip is as somebody wants it.
///
/// Thread safety: every method from any thread.
/// Ownership: borrows store and bus, which must outlive it.
/// Blocking: `wait` until then; no lock and no snapshot is held meanwhile.
class TipWaiter final : public EventHandler {
 public:
    TipWaiter(const Store& store, Bus& bus);

    using Deadline = std::optional<std::chrono::steady_clock::time_point>;

    /// The tip once `wanted` says so of it, or as it is when the deadline passes, stop is called, or
    /// `given_up`, which is asked about ten times a second, says so. Errors: those of the store.
    [[nodiscard]] Result<Tip> wait(const std::function<bool(const Tip&)>& wanted, Deadline deadline,
                                   const std::function<bool()>& given_up) BLOCKPUB_EXCLUDES(mutex_);
    /// Ends every wait; later ones end at once.
    void stop() BLOCKPUB_EXCLUDES(mutex_);

    void on_event(const Event& event) override BLOCKPUB_EXCLUDES(mutex_);

 private:
    [[nodiscard]] Result<Tip> current_tip() const;
    /// Until the tip may have changed since that many changes, or nobody waits any more. Result: false then.
    bool wait_for_change(std::uint64_t seen, Deadline deadline, const std::function<bool()>& given_up)
        BLOCKPUB_EXCLUDES(mutex_);

    const Store& store_;
    Mutex mutex_;
    CondVar changed_;
    std::uint64_t changes_ BLOCKPUB_GUARDED_BY(mutex_) = 0;
    bool stopped_ BLOCKPUB_GUARDED_BY(mutex_) = false;
    Subscription subscription_;  // last: its end waits for a call under way, which uses all of the above
};

}  // namespace blockpub
