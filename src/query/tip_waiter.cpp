// SPDX-License-Identifier: MIT
#include "query/tip_waiter.hpp"

#include <algorithm>
#include <variant>

namespace blockpub {

namespace {

constexpr std::chrono::milliseconds kPiece{100};

}  // namespace

TipWaiter::TipWaiter(const Store& store, Bus& bus)
    : store_(store), subscription_(bus.subscribe("rpc-tip", *this)) {}

void TipWaiter::on_event(const Event& event) {
    // A branch that proves invalid half-way moves the tip without an UpdatedBlockTip.
    if (!std::holds_alternative<UpdatedBlockTip>(event) && !std::holds_alternative<BlockConnected>(event) &&
        !std::holds_alternative<BlockDisconnected>(event)) {
        return;
    }
    const MutexLock lock(mutex_);
    ++changes_;
    changed_.notify_all();
}

void TipWaiter::stop() {
    const MutexLock lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
}

Result<Tip> TipWaiter::current_tip() const {
    auto snapshot = store_.snapshot();
    if (!snapshot) return forward_error(snapshot);
    return snapshot->tip();
}

bool TipWaiter::wait_for_change(std::uint64_t seen, Deadline deadline,
                                const std::function<bool()>& given_up) {
    while (!given_up()) {
        const auto now = std::chrono::steady_clock::now();
        if (deadline && now >= *deadline) return false;
        const auto piece = deadline ? std::min(*deadline, now + kPiece) : now + kPiece;
        const MutexLock lock(mutex_);
        bool in_time = true;
        while (changes_ == seen && !stopped_ && in_time) in_time = changed_.wait_until(mutex_, piece);
        if (stopped_) return false;
        if (changes_ != seen) return true;
    }
    return false;
}

Result<Tip> TipWaiter::wait(const std::function<bool(const Tip&)>& wanted, Deadline deadline,
                            const std::function<bool()>& given_up) {
    bool over = false;
    while (true) {
        std::uint64_t seen = 0;
        {
            const MutexLock lock(mutex_);
            seen = changes_;
        }
        // Looked at after the count was taken: a change in between ends the wait below at once.
        auto tip = current_tip();
        if (!tip || over || wanted(*tip)) return tip;
        over = !wait_for_change(seen, deadline, given_up);
    }
}

}  // namespace blockpub
