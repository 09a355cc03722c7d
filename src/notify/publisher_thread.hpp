// SPDX-License-Identifier: MIT
#pragma once

#include "base/log.hpp"
#include "base/mutex.hpp"
#include "notify/counting_sink.hpp"
#include "notify/event_walk.hpp"
#include "notify/pub_socket.hpp"

#include <blockpub/publisher.hpp>

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace blockpub {

/// How often a failing point is tried before it is given up. A send is tried for ever.
struct RetryLimits {
    unsigned damaged = 10;      ///< the block does not decode, or a notifier fails
    unsigned unreadable = 100;  ///< the disk refuses: eight minutes at the default pauses
};

/// The Publisher: one thread from opening the socket to closing it.
/// Thread safety, ownership, blocking: as Publisher.
class PublisherThread final : public Publisher {
 public:
    /// Errors: those of the socket's first `open`.
    [[nodiscard]] static Result<std::unique_ptr<PublisherThread>> start(PublisherOptions options, Bus& bus,
                                                                        BlockReader& reader, Logger& logger,
                                                                        std::unique_ptr<PubSocket> socket,
                                                                        std::uint32_t first_counter = 0,
                                                                        RetryLimits limits = {});
    ~PublisherThread() override { stop(); }
    [[nodiscard]] PublisherStatus status() const override BLOCKPUB_EXCLUDES(mutex_);
    void stop() override BLOCKPUB_EXCLUDES(mutex_, stop_mutex_);

 private:
    using Time = std::chrono::steady_clock::time_point;
    enum class Progress : std::uint8_t { done, idle, failed };

    PublisherThread(PublisherOptions options, Bus& bus, BlockReader& reader, Logger& logger,
                    std::unique_ptr<PubSocket> socket, std::uint32_t first_counter, RetryLimits limits);

    void run(std::promise<Result<void>> opened);
    void serve();
    [[nodiscard]] Progress step();
    void trace(const Event& event) const;
    [[nodiscard]] bool ensure_socket();
    void handle(const EventWalk::Failure& failure);
    [[nodiscard]] bool is_hopeless(const EventWalk::Failure& failure) const;
    void give_up(const EventWalk::Failure& failure);
    void begin_pause(const std::string& what, const Error& error);
    void end_failure();
    void end_given_up_run();
    void update_status(bool idle) BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] std::optional<Time> deadline() const BLOCKPUB_EXCLUDES(mutex_);

    // Constant after construction.
    PublisherOptions options_;
    const RetryLimits limits_;
    const Log log_;
    const Log net_log_;

    // Internally synchronised, or only on the publisher's thread.
    const std::unique_ptr<PubSocket> socket_;
    const std::unique_ptr<EventCursor> cursor_;
    CountingSink sink_;
    EventWalk walk_;
    std::chrono::milliseconds pause_{0};  // 0: the last attempt did not fail
    unsigned tries_ = 0;                  // at the point that fails
    Time retry_at_{};
    std::uint64_t given_up_run_ = 0;  // blocks given up one after the other
    std::uint64_t connections_told_ = 0;

    mutable Mutex mutex_;
    PublisherStatus status_ BLOCKPUB_GUARDED_BY(mutex_);
    std::optional<Time> deadline_ BLOCKPUB_GUARDED_BY(mutex_);  // set by stop

    Mutex stop_mutex_;  // only around the join, for several callers of stop
    std::jthread thread_ BLOCKPUB_GUARDED_BY(stop_mutex_);
};

}  // namespace blockpub
