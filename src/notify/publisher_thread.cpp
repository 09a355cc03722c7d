// SPDX-License-Identifier: MIT
#include "notify/publisher_thread.hpp"

#include "base/thread.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace blockpub {
namespace {

/// Longest wait without a look at the counters that `status` shows.
constexpr std::chrono::milliseconds kIdleWait{60'000};

}  // namespace

Result<std::unique_ptr<PublisherThread>> PublisherThread::start(PublisherOptions options, Bus& bus,
                                                                BlockReader& reader, Logger& logger,
                                                                std::unique_ptr<PubSocket> socket,
                                                                std::uint32_t first_counter,
                                                                RetryLimits limits) {
    std::unique_ptr<PublisherThread> publisher(new PublisherThread(std::move(options), bus, reader, logger,
                                                                   std::move(socket), first_counter, limits));
    std::promise<Result<void>> promise;
    std::future<Result<void>> opened = promise.get_future();
    {
        MutexLock lock(publisher->stop_mutex_);
        publisher->thread_ =
            start_thread("publisher", [self = publisher.get(), promise = std::move(promise)](
                                          const std::stop_token&) mutable { self->run(std::move(promise)); });
    }
    if (auto result = opened.get(); !result) return forward_error(result);
    return publisher;
}

PublisherThread::PublisherThread(PublisherOptions options, Bus& bus, BlockReader& reader, Logger& logger,
                                 std::unique_ptr<PubSocket> socket, std::uint32_t first_counter,
                                 RetryLimits limits)
    : options_(std::move(options)),
      limits_(limits),
      log_(&logger, LogCategory::zmq),
      net_log_(&logger, LogCategory::net),
      socket_(std::move(socket)),
      cursor_(bus.open_cursor([wakes = socket_.get()] { wakes->wake(); })),
      sink_(*socket_, options_.notifiers.size(), first_counter),
      walk_(options_.notifiers, sink_, reader) {
    options_.retry_first = std::max(options_.retry_first, std::chrono::milliseconds(1));
    options_.retry_longest = std::max(options_.retry_longest, options_.retry_first);
    status_.endpoint = options_.endpoint;
}

PublisherStatus PublisherThread::status() const {
    PublisherStatus status;
    {
        MutexLock lock(mutex_);
        status = status_;
    }
    status.next_index = cursor_->next_index();
    status.mempool_events_lost = cursor_->mempool_events_lost();
    status.topics = sink_.topics();
    return status;
}

void PublisherThread::stop() {
    {
        MutexLock lock(mutex_);
        if (!deadline_) deadline_ = std::chrono::steady_clock::now() + options_.linger;
    }
    socket_->wake();
    MutexLock lock(stop_mutex_);
    if (thread_.joinable()) thread_.join();
}

std::optional<PublisherThread::Time> PublisherThread::deadline() const {
    MutexLock lock(mutex_);
    return deadline_;
}

void PublisherThread::run(std::promise<Result<void>> opened) {
    Result<void> result = socket_->open();
    const bool open = result.has_value();
    if (open) update_status(true);
    opened.set_value(std::move(result));
    if (!open) return;
    serve();
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline().value_or(Time{}) -
                                                                            std::chrono::steady_clock::now());
    walk_.release_block();
    socket_->close(std::max(left, std::chrono::milliseconds(0)));
}

void PublisherThread::serve() {
    while (true) {
        const Time now = std::chrono::steady_clock::now();
        const std::optional<Time> end = deadline();
        if (end && now >= *end) return;
        Progress progress = Progress::failed;
        if (pause_.count() == 0 || now >= retry_at_) progress = step();
        update_status(progress == Progress::idle);
        if (progress == Progress::done) continue;
        if (end && progress == Progress::idle) return;
        Time until = progress == Progress::idle ? now + kIdleWait : retry_at_;
        if (end) until = std::min(until, *end);
        socket_->wait(std::chrono::ceil<std::chrono::milliseconds>(until - now));
    }
}

PublisherThread::Progress PublisherThread::step() {
    if (!ensure_socket()) return Progress::failed;
    const Result<const Event*> event = cursor_->peek();
    if (!event) {
        begin_pause("the event log cannot be read", event.error());
        return Progress::failed;
    }
    if (*event == nullptr) {
        end_failure();
        end_given_up_run();
        walk_.release_block();
        return Progress::idle;
    }
    if (const auto failure = walk_.run(**event)) {
        handle(*failure);
        return pause_.count() == 0 ? Progress::done : Progress::failed;
    }
    end_failure();
    if (!walk_.block_given_up()) end_given_up_run();
    trace(**event);
    cursor_->advance();
    return Progress::done;
}

/// One line for each event that has been published, under `-debug=zmq`.
void PublisherThread::trace(const Event& event) const {
    struct Line {
        const Log& log;
        const std::string& endpoint;
        void operator()(const BlockConnected& e) const {
            log.debug("{}: block {} connected at height {}", endpoint, e.hash.display_hex(), e.height.value);
        }
        void operator()(const BlockDisconnected& e) const {
            log.debug("{}: block {} disconnected at height {}", endpoint, e.hash.display_hex(),
                      e.height.value);
        }
        void operator()(const UpdatedBlockTip& e) const {
            log.debug("{}: tip {} at height {}", endpoint, e.tip_hash.display_hex(), e.tip_height.value);
        }
        void operator()(const TransactionAddedToMempool& e) const {
            log.debug("{}: transaction {} added", endpoint, e.txid.display_hex());
        }
        void operator()(const TransactionRemovedFromMempool& e) const {
            log.debug("{}: transaction {} removed", endpoint, e.txid.display_hex());
        }
        void operator()(const BlocksPruned& e) const {
            log.debug("{}: blocks up to height {} are being given up", endpoint, e.height.value);
        }
    };
    std::visit(Line{log_, options_.endpoint}, event);
}

bool PublisherThread::ensure_socket() {
    if (sink_.broken() && socket_->is_open()) {
        // What is queued still goes out; the part of a message that libzmq holds is dropped.
        log_.error("{}: a message was taken in part, replacing the socket", options_.endpoint);
        socket_->close(options_.linger);
    }
    if (socket_->is_open()) return true;
    if (auto opened = socket_->open(); !opened) {
        begin_pause("the socket cannot be bound again", opened.error());
        return false;
    }
    sink_.socket_replaced();
    return true;
}

void PublisherThread::handle(const EventWalk::Failure& failure) {
    {
        MutexLock lock(mutex_);
        switch (failure.cause) {
            case EventWalk::Cause::read:
                ++status_.read_failures;
                break;
            case EventWalk::Cause::send:
                ++status_.send_failures;
                break;
            case EventWalk::Cause::notifier:
                ++status_.notifier_failures;
                break;
        }
        status_.last_error = failure.error.context;
    }
    ++tries_;
    if (is_hopeless(failure)) {
        give_up(failure);
        return;
    }
    switch (failure.cause) {
        case EventWalk::Cause::read:
            begin_pause("a block cannot be read", failure.error);
            break;
        case EventWalk::Cause::send:
            begin_pause("a message cannot be sent", failure.error);
            break;
        case EventWalk::Cause::notifier:
            begin_pause("a notifier failed", failure.error);
            break;
    }
}

bool PublisherThread::is_hopeless(const EventWalk::Failure& failure) const {
    switch (failure.cause) {
        case EventWalk::Cause::send:
            return false;
        case EventWalk::Cause::notifier:
            return tries_ >= limits_.damaged;
        case EventWalk::Cause::read:
            break;
    }
    if (walk_.block_given_up()) return true;
    const Errc code = failure.error.code;
    if (code == Errc::unavailable || code == Errc::not_found) return true;  // pruned: it does not come back
    return tries_ >= (code == Errc::corrupt ? limits_.damaged : limits_.unreadable);
}

void PublisherThread::give_up(const EventWalk::Failure& failure) {
    if (failure.cause == EventWalk::Cause::notifier) {
        log_.error("{}: a notifier failed {} times, one message is left out: {}", options_.endpoint, tries_,
                   failure.error.context);
    } else if (!walk_.block_given_up()) {
        // A publisher far behind a pruning store would fill the log: the first tells, the last tells how
        // many.
        if (given_up_run_++ == 0) {
            log_.error("{}: a block cannot be read, its messages are left out: {}", options_.endpoint,
                       failure.error.context);
        }
        MutexLock lock(mutex_);
        ++status_.blocks_given_up;
    }
    walk_.give_up(failure);
    tries_ = 0;
    pause_ = {};
}

void PublisherThread::end_given_up_run() {
    if (given_up_run_ > 1) {
        log_.error("{}: {} blocks in a row could not be read, their messages were left out",
                   options_.endpoint, given_up_run_);
    }
    given_up_run_ = 0;
}

void PublisherThread::begin_pause(const std::string& what, const Error& error) {
    if (pause_.count() == 0) {
        log_.error("{}: {}, trying again until it can be: {}", options_.endpoint, what, error.context);
    }
    pause_ = std::clamp(pause_ * 2, options_.retry_first, options_.retry_longest);
    retry_at_ = std::chrono::steady_clock::now() + pause_;
    MutexLock lock(mutex_);
    status_.failing = true;
    status_.last_error = error.context;
}

void PublisherThread::end_failure() {
    tries_ = 0;
    if (pause_.count() == 0) return;
    pause_ = {};
    log_.info("{}: going on after a failure", options_.endpoint);
}

void PublisherThread::update_status(bool idle) {
    const std::uint64_t connections = socket_->connections();
    if (connections != std::exchange(connections_told_, connections))
        net_log_.debug("{}: {} connected", options_.endpoint, connections);
    MutexLock lock(mutex_);
    status_.connections = connections;
    status_.failing = pause_.count() != 0;
    if (idle || status_.endpoint.empty()) status_.endpoint = socket_->bound_endpoint();
}

}  // namespace blockpub
