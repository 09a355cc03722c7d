// SPDX-License-Identifier: MIT
#pragma once

#include "source/p2p_framing.hpp"
#include "source/p2p_inbound_connection.hpp"
#include "source/p2p_pings.hpp"
#include "source/p2p_requests.hpp"
#include "source/p2p_traffic.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/result.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace blockpub {

class InboundPeer;

/// What the peers that came share, and whom they tell. Calls come from the listener's thread.
class InboundHost {
 public:
    virtual ~InboundHost() = default;
    /// What is told of ourselves.
    [[nodiscard]] virtual PeerVersion own_version() = 0;
    [[nodiscard]] virtual ServedChain& chain() = 0;
    [[nodiscard]] virtual const TransactionRelay& transactions() const = 0;
    [[nodiscard]] virtual bool may_send_block(std::int64_t time) const = 0;
    [[nodiscard]] virtual std::int64_t now_seconds() const = 0;
    virtual void note_sent(std::size_t bytes) = 0;
    virtual void peer_ready(InboundPeer& peer) = 0;
    /// Has work() of the peer called soon, not from within this call.
    virtual void go_on(InboundPeer& peer) = 0;
    /// The peer is done with. To be destroyed soon, not from within this call. `fault`: the peer is to blame.
    virtual void peer_ended(InboundPeer& peer, const std::string& reason, bool fault) = 0;
};

/// One peer that came: its handshake, its questions and the answers to them.
///
/// While so much waits to be sent that the bound is reached, or something that was asked for is not sent yet,
/// nothing is taken from the peer. It is sent no message that its version, or what it has said, does not call
/// for: nothing but version, verack, headers, inv, block, ping and pong to who has said nothing.
///
/// Thread safety: the listener's thread only. Ownership: borrows the host. Blocking: reads the disk.
class InboundPeer final : private RequestHost {
 public:
    using Time = std::chrono::steady_clock::time_point;
    /// Bytes that may wait to be sent before more is made; one message may come on top.
    static constexpr std::size_t kMostUnsent = 1'000'000;
    struct Options {
        std::uint32_t magic = 0;
        std::uint32_t permissions = 0;
        /// For the handshake. Twenty times as much for an answer to a ping, and for taking what is sent.
        std::chrono::milliseconds timeout{60'000};
    };

    InboundPeer(std::uint32_t number, Options options, std::unique_ptr<InboundConnection> connection,
                InboundHost& host);
    ~InboundPeer() override = default;
    InboundPeer(const InboundPeer&) = delete;
    InboundPeer& operator=(const InboundPeer&) = delete;

    void begin();
    /// Goes on with what there is to do, for a while.
    void work();
    void chain_moved(Height fork);
    void transactions_waiting();
    /// What is due by now. To be called about once a second.
    void tick(Time now);
    void ping_now();
    void end(const std::string& reason, bool fault);

    [[nodiscard]] std::uint32_t number() const { return number_; }
    [[nodiscard]] bool ready() const { return stage_ == Stage::ready; }
    [[nodiscard]] bool ended() const { return stage_ == Stage::ended; }
    [[nodiscard]] bool wants_transactions() const { return ready() && manners_.relay; }
    [[nodiscard]] const InboundConnection& connection() const { return *connection_; }
    [[nodiscard]] std::uint32_t permissions() const { return options_.permissions; }
    [[nodiscard]] const PeerTraffic& traffic() const { return traffic_; }
    /// For getpeerinfo. Requires: ready().
    [[nodiscard]] PeerRow row(Time now) const;

 private:
    enum class Stage : std::uint8_t { new_here, version_came, ready, ended };

    void send(std::string_view name, ByteSpan payload) override;
    void send_block(const ServedChain::Block& block) override;
    const PeerManners& manners() const override { return manners_; }
    ServedChain& chain() override { return host_.chain(); }
    const TransactionRelay& transactions() const override { return host_.transactions(); }
    bool may_send_block(std::int64_t time) const override { return host_.may_send_block(time); }

    void listen();
    /// Does one thing. Result: whether there was anything that can be done now.
    [[nodiscard]] Result<bool> step();
    [[nodiscard]] Result<bool> take_message();
    [[nodiscard]] Result<void> handle(std::string_view name, ByteSpan payload);
    [[nodiscard]] Result<void> handle_version(ByteSpan payload);
    [[nodiscard]] Result<void> handle_manners(std::string_view name, ByteSpan payload);
    [[nodiscard]] Result<void> handle_ping(ByteSpan payload);
    [[nodiscard]] Result<void> handle_pong(ByteSpan payload);
    [[nodiscard]] Result<void> handle_request(std::string_view name, ByteSpan payload);
    void shake_hands();
    void become_ready();
    void ping(Time now);
    void settle(const Result<void>& result);
    [[nodiscard]] Result<void> check_patience(Time now);

    const std::uint32_t number_;
    const Options options_;
    InboundHost& host_;
    const std::unique_ptr<InboundConnection> connection_;
    const Time began_;
    const std::int64_t connected_at_;
    MessageFramer framer_;
    ByteSpan input_;  // in the connection's memory
    Stage stage_ = Stage::new_here;
    bool shaken_ = false;  // our verack is sent
    bool going_on_ = false;
    bool stuck_ = false;  // until some of what waits is sent
    PeerVersion version_;
    PeerManners manners_;
    PeerRequests requests_;
    PeerTraffic traffic_;
    Time version_came_{};
    bool listening_ = false;  // nothing but the peer is waited for
    Time listening_since_;
    PeerPings pings_;
    std::int64_t last_sent_ = 0;
    std::int64_t last_received_ = 0;
};

}  // namespace blockpub
