// SPDX-License-Identifier: MIT
#pragma once

#include "notify/endpoint.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/result.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace blockpub {

/// A peer that has not said who it is within this time is cut.
inline constexpr std::chrono::milliseconds kHandshakeInterval{10'000};
/// Bytes of the largest message that a peer may send us: subscriptions are a few bytes long.
inline constexpr std::int64_t kLargestPeerMessage = 4096;

/// The few things that a publisher asks of libzmq; tests put their faults between.
///
/// Thread safety: one thread from `open` to `close`; `wake` from any.
/// Blocking: only `wait`. A PUB socket never makes a sender wait.
class PubSocket {
 public:
    virtual ~PubSocket() = default;
    /// Makes the socket and binds it; after `close` again, then to the address that was bound first, with the
    /// port that the system chose. Errors: busy, invalid_argument, io; nothing is left open.
    [[nodiscard]] virtual Result<void> open() = 0;
    /// Ends the socket; what is queued for subscribers may still go out for `linger`. A message of which not
    /// all frames were given is dropped, not sent in part.
    virtual void close(std::chrono::milliseconds linger) noexcept = 0;
    [[nodiscard]] virtual bool is_open() const noexcept = 0;
    /// As bound. Empty before the first `open`.
    [[nodiscard]] virtual std::string bound_endpoint() const = 0;
    /// Gives one frame, copied. Errors: io; the frame has not been taken.
    [[nodiscard]] virtual Result<void> send_frame(ByteSpan frame, bool more) = 0;
    /// Gives one frame without a copy: the socket holds a reference until the last subscriber has had it.
    [[nodiscard]] virtual Result<void> send_frame(const SharedBytes& frame, bool more) = 0;
    /// Open connections; one that never finishes its handshake is among them for kHandshakeInterval.
    [[nodiscard]] virtual std::uint64_t connections() const noexcept = 0;
    /// Serves the socket until `wake` is called or the time is up.
    virtual void wait(std::chrono::milliseconds longest) = 0;
    /// Ends the present or the next `wait`. From any thread.
    virtual void wake() noexcept = 0;
};

struct PubSocketOptions {
    Endpoint endpoint;
    int high_water_mark = 1000;
};

/// A PUB socket of libzmq in a context of its own: no endpoint's traffic waits for another's.
/// Errors: io (no descriptor, no memory).
[[nodiscard]] Result<std::unique_ptr<PubSocket>> make_pub_socket(PubSocketOptions options);

}  // namespace blockpub
