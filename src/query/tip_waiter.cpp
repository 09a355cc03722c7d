// SPDX-License-Identifier: MIT
#include "query/tip_waiter.hpp"

#include <variant>

namespace blockpub {

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

Result<Tip> TipWaiter::wait(const std::function<bool(const Tip&)>& wanted,
                            std::optional<std::chrono::steady_clock::time_point> deadline) {
    while (true) {
        std::uint64_t seen = 0;
        bool over = false;
        {
            const MutexLock lock(mutex_);
            seen = changes_;
            over = stopped_;
        }
        // Looked at after the count was taken: a change in between ends the wait below at once.
        auto tip = current_tip();
        if (!tip || over || wanted(*tip)) return tip;
        if (deadline && std::chrono::steady_clock::now() >= *deadline) return tip;
        const MutexLock lock(mutex_);
        while (changes_ == seen && !stopped_) {
            if (!deadline) {
                changed_.wait(mutex_);
            } else if (!changed_.wait_until(mutex_, *deadline)) {
                break;
            }
        }
    }
}

}  // namespace blockpub
