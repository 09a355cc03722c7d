// SPDX-License-Identifier: MIT
#pragma once

#include "source/p2p_framing.hpp"
#include "source/p2p_messages.hpp"
#include "source/p2p_pings.hpp"
#include "source/p2p_traffic.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/result.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace blockpub {

/// What a session says to who owns it. All calls come from within receive(), tick() and the session's own
/// send functions.
class PeerSessionHost {
 public:
    virtual ~PeerSessionHost() = default;
    /// Puts bytes on their way to the peer; must not wait.
    virtual void send_bytes(std::vector<std::uint8_t> bytes) = 0;
    /// Both sides have shaken hands.
    virtual void session_ready() = 0;
    /// A message that concerns the chain: headers, inv, block, notfound and all others that the session does
    /// not deal with itself. An Error ends the session: the peer is to blame.
    [[nodiscard]] virtual Result<void> session_message(const PeerMessage& message) = 0;
};

struct PeerSessionOptions {
    std::uint32_t magic = 0;
    PeerVersion version;  ///< what is told of ourselves; `relay`: transactions are wanted
    /// The handshake must be done in this time, and a ping answered in three times as much.
    std::chrono::milliseconds timeout{60'000};
};

/// What a session has come to: a copy of one moment.
struct PeerSessionStats {
    std::optional<std::chrono::microseconds> ping;
    std::optional<std::chrono::microseconds> least_ping;
    std::optional<std::chrono::microseconds> ping_under_way;
    std::int64_t fee_filter = 0;
};

/// One conversation with a node that was called: the handshake, pings, and the bytes of messages. No I/O and
/// no clock of its own.
///
/// Sends only what the peer's version allows, and nothing but version before the peer's own version came.
/// Thread safety: one thread at a time.
/// Ownership: borrows the host, which must outlive it. Blocking: never.
/// Errors: of receive and tick: a sentence that says why the connection must end.
class PeerSession {
 public:
    using Time = std::chrono::steady_clock::time_point;

    PeerSession(PeerSessionOptions options, PeerSessionHost& host, Time now);
    PeerSession(const PeerSession&) = delete;
    PeerSession& operator=(const PeerSession&) = delete;

    /// Says version. Requires: called once, first.
    void begin();
    [[nodiscard]] Result<void> receive(ByteSpan bytes, Time now);
    /// What is due by now. To be called about once a second.
    [[nodiscard]] Result<void> tick(Time now);
    /// Requires: ready().
    void ping(Time now);
    /// Nothing was read for a while: the peer's time begins anew.
    void resume(Time now);
    /// Requires: ready().
    void send(std::string_view name, ByteSpan payload);

    [[nodiscard]] bool ready() const { return ready_; }
    /// The peer's own. Nothing until it has come.
    [[nodiscard]] const std::optional<PeerVersion>& peer() const& { return peer_; }
    /// Whether both sides want transactions.
    [[nodiscard]] bool relays() const { return options_.version.relay && peer_ && peer_->relay; }
    /// Whether transactions are announced by wtxid (BIP 339).
    [[nodiscard]] bool by_wtxid() const { return by_wtxid_; }
    [[nodiscard]] Time last_received() const { return last_received_; }
    /// Whether a message has begun and not ended.
    [[nodiscard]] bool receiving() const { return framer_.pending() != 0; }
    [[nodiscard]] bool anything_received() const { return traffic_.received() != 0; }
    [[nodiscard]] const PeerTraffic& traffic() const& { return traffic_; }
    [[nodiscard]] PeerSessionStats stats(Time now) const;

 private:
    [[nodiscard]] Result<void> handle(const PeerMessage& message, Time now);
    [[nodiscard]] Result<void> handle_version(ByteSpan payload);
    [[nodiscard]] Result<void> handle_verack();
    [[nodiscard]] Result<void> handle_pong(ByteSpan payload, Time now);
    void transmit(std::string_view name, ByteSpan payload);

    const PeerSessionOptions options_;
    PeerSessionHost& host_;
    const Time began_;
    MessageFramer framer_;
    std::optional<PeerVersion> peer_;
    bool ready_ = false;
    bool by_wtxid_ = false;
    Time last_received_;
    PeerPings pings_;
    std::int64_t fee_filter_ = 0;
    PeerTraffic traffic_;
};

}  // namespace blockpub
