// SPDX-License-Identifier: MIT
#include "source/p2p_session.hpp"

#include "base/check.hpp"
#include "primitives/transaction.hpp"

#include <fmt/format.h>

namespace blockpub {
namespace {

using std::chrono::duration_cast;
using std::chrono::seconds;

// The first versions with a message or a habit.
constexpr std::uint32_t kLeastProtocol = 70001;  // ping with nonce, and nodes of the last ten years
constexpr std::uint32_t kSendHeadersProtocol = 70012;
constexpr std::uint32_t kWtxidRelayProtocol = 70016;

}  // namespace

PeerSession::PeerSession(PeerSessionOptions options, PeerSessionHost& host, Time now)
    : options_(std::move(options)),
      host_(host),
      began_(now),
      framer_(options_.magic),
      last_received_(now),
      pings_(now) {}

void PeerSession::begin() {
    transmit("version", encode_version(options_.version));
}

void PeerSession::send(std::string_view name, ByteSpan payload) {
    BLOCKPUB_CHECK(ready_);
    transmit(name, payload);
}

void PeerSession::transmit(std::string_view name, ByteSpan payload) {
    std::vector<std::uint8_t> bytes = encode_message(options_.magic, name, payload);
    traffic_.add_sent(name, bytes.size());
    host_.send_bytes(std::move(bytes));
}

Result<void> PeerSession::receive(ByteSpan bytes, Time now) {
    traffic_.add_received_bytes(bytes.size());
    last_received_ = now;
    while (!bytes.empty()) {
        auto message = framer_.take(bytes);
        if (!message) return forward_error(message);
        if (!*message) return {};
        traffic_.add_received((*message)->name.view(), kMessageHeadSize + (*message)->payload.size());
        if (auto handled = handle(**message, now); !handled) return handled;
    }
    return {};
}

Result<void> PeerSession::handle(const PeerMessage& message, Time now) {
    const std::string_view name = message.name.view();
    const ByteSpan payload = message.payload.bytes();
    if (name == "version") return handle_version(payload);
    if (!peer_) return fail(Errc::corrupt, fmt::format("it said {} before version", name));
    if (name == "verack") return handle_verack();
    if (name == "ping") {
        const auto nonce = decode_nonce(payload);
        if (!nonce) return std::unexpected(nonce.error());
        transmit("pong", encode_nonce(*nonce));
        return {};
    }
    if (name == "pong") return handle_pong(payload, now);
    if (name == "feefilter") {
        const auto fee_rate = decode_fee_filter(payload);
        if (!fee_rate) return std::unexpected(fee_rate.error());
        if (is_in_money_range(*fee_rate)) fee_filter_ = *fee_rate;
        return {};
    }
    if (name == "wtxidrelay" && !ready_) {
        by_wtxid_ = options_.version.relay && peer_->protocol >= kWtxidRelayProtocol;
        return {};
    }
    // What a peer may say between version and verack is about how it wants to be spoken to.
    if (!ready_) return {};
    return host_.session_message(message);
}

Result<void> PeerSession::handle_version(ByteSpan payload) {
    if (peer_) return {};  // what has been said stands
    const auto version = decode_version(payload);
    if (!version) return std::unexpected(version.error());
    if (version->nonce == options_.version.nonce)
        return fail(Errc::corrupt, "it is this very daemon: give -connect the node's address");
    if (version->protocol < kLeastProtocol) {
        return fail(Errc::unsupported, fmt::format("it speaks version {} of the protocol, {} is needed",
                                                   version->protocol, kLeastProtocol));
    }
    if ((version->services & (kServiceNetwork | kServiceLimited)) == 0)
        return fail(Errc::unsupported, "it serves no blocks");
    if ((version->services & kServiceWitness) == 0)
        return fail(Errc::unsupported, "it serves blocks without their witnesses");
    peer_ = *version;
    if (options_.version.relay && peer_->protocol >= kWtxidRelayProtocol) transmit("wtxidrelay", {});
    transmit("verack", {});
    return {};
}

Result<void> PeerSession::handle_verack() {
    if (ready_) return {};
    ready_ = true;
    if (peer_->protocol >= kSendHeadersProtocol) transmit("sendheaders", {});
    host_.session_ready();
    return {};
}

Result<void> PeerSession::handle_pong(ByteSpan payload, Time now) {
    const auto nonce = decode_nonce(payload);
    if (!nonce) return std::unexpected(nonce.error());
    pings_.answered(*nonce, now);
    return {};
}

void PeerSession::ping(Time now) {
    if (pings_.under_way()) return;
    transmit("ping", encode_nonce(pings_.begin(now)));
}

void PeerSession::resume(Time now) {
    last_received_ = now;
    if (pings_.under_way()) pings_.restart(now);
}

Result<void> PeerSession::tick(Time now) {
    const auto whole = [](auto time) { return duration_cast<seconds>(time).count(); };
    if (!ready_) {
        if (now - began_ < options_.timeout) return {};
        if (peer_) return fail(Errc::io, fmt::format("no verack within {} s", whole(now - began_)));
        return fail(
            Errc::io,
            fmt::format("no version within {} s: is it a node's P2P port (8333, testnet4 48333, signet "
                        "38333, regtest 18444), and not that of its RPC?",
                        whole(now - began_)));
    }
    const auto since_ping = now - pings_.last();
    if (!pings_.under_way()) {
        if (since_ping >= options_.timeout / 2) ping(now);
    } else if (since_ping >= 3 * options_.timeout) {
        return fail(Errc::io, fmt::format("no answer to a ping within {} s", whole(since_ping)));
    }
    return {};
}

PeerSessionStats PeerSession::stats(Time now) const {
    return {.ping = pings_.latest(),
            .least_ping = pings_.least(),
            .ping_under_way = pings_.waited(now),
            .fee_filter = fee_filter_};
}

}  // namespace blockpub
