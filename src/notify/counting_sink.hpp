// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "notify/pub_socket.hpp"

#include <blockpub/notifier.hpp>
#include <blockpub/publisher.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

/// Bodies below are copied into the message, larger ones are shared. Sharing is cheaper from about 1 KB on,
/// but up to here the copy (under 1 us) is a hundredth of what sending costs, and a queued slice would keep a
/// whole block alive.
inline constexpr std::size_t kCopiedBody = 16 * 1024;

/// Turns topic and body into Core's three frames: topic, body, counter as 32 bits little-endian.
///
/// Each notifier has a counter for each topic it sends, as in Core, where two options for one topic on one
/// address are two notifiers. A counter is raised only by a message that was sent, and wraps around.
///
/// The sink knows what the point at hand has sent already: when it is asked again after a failure, those
/// messages are passed over. Thread safety: the publisher's thread; `topics` from any. Errors: io. After one
/// behind the first frame the socket must not be used again: see `broken`.
class CountingSink final : public MessageSink {
 public:
    /// Counters begin at `first_counter`: 0 but in tests of the wrap-around.
    CountingSink(PubSocket& socket, std::size_t notifiers, std::uint32_t first_counter)
        : socket_(socket), first_counter_(first_counter), rows_(notifiers) {}

    /// A new point: what `notifier` sends from now on has not been sent before.
    void begin_point(std::size_t notifier);
    /// The same point again, from its start.
    void repeat_point() { position_ = 0; }

    [[nodiscard]] Result<void> send(std::string_view topic, ByteSpan body) override;
    [[nodiscard]] Result<void> send(std::string_view topic, const SharedBytes& body) override;

    /// Leaves out one message: subscribers see a gap in the counter.
    void skip(std::size_t notifier, std::string_view topic);

    /// Whether a send has failed since the last begin_point or repeat_point.
    [[nodiscard]] bool failed() const { return failed_; }
    void clear_failed() { failed_ = false; }
    /// Whether the socket holds a part of a message. Closing it drops the part; then call `socket_replaced`.
    [[nodiscard]] bool broken() const { return broken_; }
    void socket_replaced() { broken_ = false; }

    [[nodiscard]] std::vector<PublisherStatus::Topic> topics() const BLOCKPUB_EXCLUDES(mutex_);

 private:
    struct Row {
        std::string topic;
        std::uint32_t counter = 0;
        std::uint64_t messages = 0;
        std::uint64_t bytes = 0;
    };

    template <class Body>
    [[nodiscard]] Result<void> send_frames(std::string_view topic, const Body& body, std::size_t size)
        BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] Row& row_locked(std::size_t notifier, std::string_view topic) BLOCKPUB_REQUIRES(mutex_);

    // Constant after construction.
    PubSocket& socket_;
    const std::uint32_t first_counter_;

    // Only on the publisher's thread.
    std::size_t notifier_ = 0;
    std::size_t position_ = 0;  // messages that the notifier has asked for at this point
    std::size_t sent_ = 0;      // messages that have been sent at this point
    bool failed_ = false;
    bool broken_ = false;

    mutable Mutex mutex_;
    std::vector<std::vector<Row>> rows_ BLOCKPUB_GUARDED_BY(mutex_);  // by notifier
};

}  // namespace blockpub
