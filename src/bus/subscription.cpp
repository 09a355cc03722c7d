// SPDX-License-Identifier: MIT
#include "base/check.hpp"
#include "base/mutex.hpp"
#include "base/thread.hpp"
#include "bus/bus_state.hpp"
#include "bus/cursor.hpp"

#include <blockpub/bus.hpp>

#include <cxxabi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <utility>

namespace blockpub {
namespace {

constexpr std::chrono::milliseconds kRetryFirst{50};
constexpr std::chrono::milliseconds kRetryLongest{5000};

}  // namespace

/// The thread of a subscription, its cursor, and what wakes it.
struct Subscription::Impl {
 public:
    Impl(std::shared_ptr<BusState> bus, std::string name, EventHandler& handler)
        : state_(std::move(bus)),
          name_(std::move(name)),
          handler_(handler),
          cursor_(state_, [this] { wake(); }) {
        thread_ = start_thread(name_, [this](const std::stop_token&) { run(); });
    }
    ~Impl() {
        BLOCKPUB_CHECK(thread_.get_id() != std::this_thread::get_id(),
                       "subscription {} ended by its own handler", name_);
        ending_.store(true);
        wake();
        thread_.join();
    }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    [[nodiscard]] const WindowCursor& cursor() const { return cursor_; }
    [[nodiscard]] std::uint64_t failures() const { return failures_.load(std::memory_order_relaxed); }

 private:
    void wake() BLOCKPUB_EXCLUDES(mutex_) {
        MutexLock lock(mutex_);
        woken_ = true;
        condition_.notify_one();
    }
    void wait() BLOCKPUB_EXCLUDES(mutex_) {
        MutexLock lock(mutex_);
        while (!woken_) condition_.wait(mutex_);
        woken_ = false;
    }
    void run();
    void deliver(const Event& event);
    void back_off(const Error& error) BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] bool over() const { return ending_.load() || state_->stopped(); }

    // Constant after construction.
    const std::shared_ptr<BusState> state_;
    const std::string name_;
    EventHandler& handler_;

    Mutex mutex_;
    CondVar condition_;
    bool woken_ BLOCKPUB_GUARDED_BY(mutex_) = false;

    // Internally synchronised. The cursor comes behind what its wake-ups use: they begin with it and end with
    // it.
    WindowCursor cursor_;
    std::atomic<bool> ending_{false};
    std::atomic<std::uint64_t> failures_{0};

    // Only on the subscription's thread.
    std::chrono::milliseconds pause_{0};

    std::jthread thread_;
};

void Subscription::Impl::run() {
    // However the thread ends, pthread_exit in a handler included, nothing is kept for it any longer.
    struct Detach {
        WindowCursor& cursor;
        ~Detach() { cursor.detach(); }
    } const detach{cursor_};

    while (!over()) {
        const Result<const Event*> event = cursor_.peek();
        if (!event) {
            back_off(event.error());
            continue;
        }
        if (pause_.count() != 0) {
            pause_ = {};
            state_->logger().info("{}: the event log can be read again", name_);
        }
        if (*event == nullptr) {
            wait();
            continue;
        }
        deliver(**event);
        cursor_.advance();
    }
}

// A forced unwind has no object: the reference that catches it is bound to none.
__attribute__((no_sanitize("null"))) void Subscription::Impl::deliver(const Event& event) {
    try {
        handler_.on_event(event);
    } catch (const abi::__forced_unwind&) {
        throw;  // the thread is being ended; swallowing it would abort the process
    } catch (const std::exception& error) {
        failures_.fetch_add(1, std::memory_order_relaxed);
        state_->logger().error("{}: the event handler threw: {}", name_, error.what());
    } catch (...) {
        failures_.fetch_add(1, std::memory_order_relaxed);
        state_->logger().error("{}: the event handler threw", name_);
    }
}

void Subscription::Impl::back_off(const Error& error) {
    if (pause_.count() == 0) {
        state_->logger().error("{}: the event log cannot be read, trying again: {}", name_, error.context);
    }
    pause_ = std::clamp(pause_ * 2, kRetryFirst, kRetryLongest);
    const auto deadline = std::chrono::steady_clock::now() + pause_;
    MutexLock lock(mutex_);
    // New events do not end the pause: only the end does.
    while (!over() && condition_.wait_until(mutex_, deadline)) {
    }
}

Subscription::Subscription(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Subscription::Subscription(Subscription&&) noexcept = default;
Subscription& Subscription::operator=(Subscription&&) noexcept = default;
Subscription::~Subscription() = default;

EventIndex Subscription::next_index() const {
    return impl_ ? impl_->cursor().next_index() : 0;
}
std::uint64_t Subscription::mempool_events_lost() const {
    return impl_ ? impl_->cursor().mempool_events_lost() : 0;
}
std::uint64_t Subscription::handler_failures() const {
    return impl_ ? impl_->failures() : 0;
}

Subscription Bus::subscribe(std::string name, EventHandler& handler) {
    return Subscription(std::make_unique<Subscription::Impl>(state_, std::move(name), handler));
}

}  // namespace blockpub
