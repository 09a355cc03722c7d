// SPDX-License-Identifier: MIT
#include "source/p2p_inbound.hpp"

#include "source/p2p_messages.hpp"
#include "source/p2p_peer_row.hpp"
#include "source/p2p_permissions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace blockpub {
namespace {

using std::chrono::duration_cast;
using std::chrono::seconds;
using InboundClock = std::chrono::steady_clock;

constexpr int kStepsInATurn = 8;
constexpr int kPatienceFactor = 20;
constexpr seconds kAwaitedManners{1};  // then verack is said without
// The first versions with a message.
constexpr std::uint32_t kOldestProtocol = 31800;
constexpr std::uint32_t kPongProtocol = 60001;
constexpr std::uint32_t kWtxidProtocol = 70016;

// What is read of those who come; a longer one has no meaning. The rest is not even held.
constexpr std::size_t kShort = 10'000;
constexpr std::array<HeldMessage, 7> kQuestions{{{"version", kShort},
                                                 {"ping", kShort},
                                                 {"pong", kShort},
                                                 {"feefilter", kShort},
                                                 {"getheaders", kShort},
                                                 {"getblocks", kShort},
                                                 {"getdata", 2'000'000}}};

// What calls for a service that is not offered: bitcoind hangs up, too.
constexpr std::array<std::string_view, 6> kNotServed{"filterload",  "filteradd",    "filterclear",
                                                     "getcfilters", "getcfheaders", "getcfcheckpt"};

std::int64_t whole_seconds(InboundClock::duration time) {
    return duration_cast<seconds>(time).count();
}

}  // namespace

InboundPeer::InboundPeer(std::uint32_t number, Options options, std::unique_ptr<InboundConnection> connection,
                         InboundHost& host)
    : number_(number),
      options_(options),
      host_(host),
      connection_(std::move(connection)),
      began_(InboundClock::now()),
      connected_at_(host.now_seconds()),
      framer_(options.magic, PeerSide::came, kQuestions),
      requests_(static_cast<RequestHost&>(*this)),
      listening_since_(began_),
      pings_(began_) {
    manners_.permissions = options.permissions;
}

void InboundPeer::begin() {
    connection_->begin({.received =
                            [this](ByteSpan bytes) {
                                last_received_ = host_.now_seconds();
                                traffic_.add_received_bytes(bytes.size());
                                input_ = bytes;
                                listening_ = false;
                                work();
                            },
                        .sent =
                            [this] {
                                if (std::exchange(stuck_, false)) work();
                            },
                        .closed = [this](const std::string& reason) { end(reason, false); }});
    listen();
}

void InboundPeer::listen() {
    if (std::exchange(listening_, true)) return;
    listening_since_ = InboundClock::now();
    connection_->read();
}

void InboundPeer::work() {
    going_on_ = false;
    for (int i = 0; i < kStepsInATurn; ++i) {
        if (stage_ == Stage::ended || stuck_) return;
        const auto done = step();
        if (!done) return settle(std::unexpected(done.error()));
        if (!*done) return;
    }
    // Others have their turn.
    if (stage_ != Stage::ended && !std::exchange(going_on_, true)) host_.go_on(*this);
}

Result<bool> InboundPeer::step() {
    if (connection_->unsent() >= kMostUnsent) {
        stuck_ = true;
        return false;
    }
    if (stage_ == Stage::ready) {
        auto done = requests_.step();
        if (!done || *done) return done;
    }
    return take_message();
}

Result<bool> InboundPeer::take_message() {
    if (input_.empty()) {
        listen();
        return false;
    }
    auto message = framer_.take(input_);
    if (!message) return forward_error(message);
    if (!*message) return true;
    const std::string_view name = (*message)->name.view();
    traffic_.add_received(name, kMessageHeadSize + (*message)->size);
    if (auto handled = handle(name, (*message)->payload.bytes()); !handled) return forward_error(handled);
    return true;
}

Result<void> InboundPeer::handle(std::string_view name, ByteSpan payload) {
    if (name == "version") return handle_version(payload);
    if (stage_ == Stage::new_here) return fail(Errc::corrupt, fmt::format("it said {} before version", name));
    if (name == "verack") {
        if (!ready()) become_ready();
        return {};
    }
    if (name == "ping") return handle_ping(payload);
    if (name == "pong") return handle_pong(payload);
    if (name == "wtxidrelay" || name == "sendheaders" || name == "feefilter")
        return handle_manners(name, payload);
    return ready() ? handle_request(name, payload) : Result<void>();
}

Result<void> InboundPeer::handle_version(ByteSpan payload) {
    if (stage_ != Stage::new_here) return {};  // what has been said stands
    auto version = decode_version(payload);
    if (!version) return forward_error(version);
    if (version->protocol < kOldestProtocol) {
        return fail(Errc::unsupported, fmt::format("it speaks version {} of the protocol, {} is needed",
                                                   version->protocol, kOldestProtocol));
    }
    const PeerVersion own = host_.own_version();
    if (version->nonce == own.nonce) return fail(Errc::unsupported, "it is this very daemon");
    version_ = std::move(*version);
    manners_.protocol = std::min(version_.protocol, own.protocol);
    manners_.relay = version_.relay;
    stage_ = Stage::version_came;
    version_came_ = InboundClock::now();
    send("version", encode_version(own));
    // Who may want wtxidrelay says so before its verack, and must be answered before ours.
    if (manners_.protocol < kWtxidProtocol) shake_hands();
    return {};
}

void InboundPeer::shake_hands() {
    if (!std::exchange(shaken_, true)) send("verack", {});
}

void InboundPeer::become_ready() {
    shake_hands();
    stage_ = Stage::ready;
    pings_.restart(InboundClock::now());
    requests_.begin();
    host_.peer_ready(*this);
}

Result<void> InboundPeer::handle_manners(std::string_view name, ByteSpan payload) {
    if (name == "sendheaders") {
        manners_.wants_headers = true;
    } else if (name == "feefilter") {
        const auto fee_rate = decode_fee_filter(payload);
        if (!fee_rate) return std::unexpected(fee_rate.error());
        if (is_in_money_range(*fee_rate)) manners_.taste.fee_filter = *fee_rate;
    } else if (!shaken_) {
        manners_.taste.by_wtxid = true;
        send("wtxidrelay", {});
        shake_hands();
    }
    return {};
}

Result<void> InboundPeer::handle_ping(ByteSpan payload) {
    if (manners_.protocol < kPongProtocol) return {};
    const auto nonce = decode_nonce(payload);
    if (!nonce) return std::unexpected(nonce.error());
    send("pong", encode_nonce(*nonce));
    return {};
}

Result<void> InboundPeer::handle_pong(ByteSpan payload) {
    const auto nonce = decode_nonce(payload);
    if (!nonce) return std::unexpected(nonce.error());
    pings_.answered(*nonce, InboundClock::now());
    return {};
}

Result<void> InboundPeer::handle_request(std::string_view name, ByteSpan payload) {
    if (name == "getheaders") return requests_.take_get_headers(payload);
    if (name == "getdata") return requests_.take_get_data(payload);
    if (name == "getblocks") return requests_.take_get_blocks(payload);
    if (name == "mempool") return requests_.take_mempool();
    if (std::ranges::find(kNotServed, name) != kNotServed.end())
        return fail(Errc::unsupported, fmt::format("it said {}, and no filters are served", name));
    // What it has itself is of no interest: nothing is taken from who comes.
    return {};
}

void InboundPeer::send(std::string_view name, ByteSpan payload) {
    std::vector<std::uint8_t> bytes = encode_message(options_.magic, name, payload);
    traffic_.add_sent(name, bytes.size());
    host_.note_sent(bytes.size());
    last_sent_ = host_.now_seconds();
    connection_->send(std::move(bytes));
}

void InboundPeer::send_block(const ServedChain::Block& block) {
    const auto head = encode_message_head(options_.magic, "block", block.payload.size(), block.checksum);
    const std::size_t size = head.size() + block.payload.size();
    traffic_.add_sent("block", size);
    host_.note_sent(size);
    last_sent_ = host_.now_seconds();
    connection_->send(std::vector<std::uint8_t>(head.begin(), head.end()));
    connection_->send(block.payload);
}

void InboundPeer::chain_moved(Height fork) {
    if (!ready()) return;
    requests_.chain_moved(fork);
    if (!going_on_) work();
}

void InboundPeer::transactions_waiting() {
    if (ready() && !going_on_) work();
}

void InboundPeer::ping(Time now) {
    send("ping", encode_nonce(pings_.begin(now)));
}

void InboundPeer::ping_now() {
    if (ready() && !pings_.under_way() && manners_.protocol >= kPongProtocol) ping(InboundClock::now());
}

Result<void> InboundPeer::check_patience(Time now) {
    const auto patience = kPatienceFactor * options_.timeout;
    if (connection_->unsent() != 0) {
        const auto waited = now - connection_->last_progress();
        if (waited < patience) return {};
        return fail(Errc::io,
                    fmt::format("it has taken nothing of what it is sent for {} s", whole_seconds(waited)));
    }
    if (!pings_.under_way() || !listening_) return {};
    const auto waited = now - std::max(pings_.last(), listening_since_);
    if (waited < patience) return {};
    return fail(Errc::io, fmt::format("no answer to a ping within {} s", whole_seconds(waited)));
}

void InboundPeer::tick(Time now) {
    if (stage_ == Stage::ended) return;
    if (!ready()) {
        if (now - began_ >= options_.timeout) {
            return settle(
                fail(Errc::unsupported,
                     fmt::format("no {} within {} s", stage_ == Stage::new_here ? "version" : "verack",
                                 whole_seconds(now - began_))));
        }
        if (stage_ == Stage::version_came && now - version_came_ >= kAwaitedManners) shake_hands();
        return;
    }
    if (auto patient = check_patience(now); !patient) return settle(patient);
    const bool quiet = connection_->unsent() == 0 && !requests_.busy();
    if (quiet && !pings_.under_way() && manners_.protocol >= kPongProtocol &&
        now - pings_.last() >= options_.timeout / 2)
        ping(now);
}

void InboundPeer::settle(const Result<void>& result) {
    if (result) return;
    const Errc code = result.error().code;
    end(result.error().context, code == Errc::corrupt || code == Errc::unsupported);
}

void InboundPeer::end(const std::string& reason, bool fault) {
    if (std::exchange(stage_, Stage::ended) == Stage::ended) return;
    host_.peer_ended(*this, reason, fault);
}

PeerRow InboundPeer::row(Time now) const {
    const PeerSessionStats stats{.ping = pings_.latest(),
                                 .least_ping = pings_.least(),
                                 .ping_under_way = pings_.waited(now),
                                 .fee_filter = manners_.taste.fee_filter};
    PeerRow row = make_peer_row({.number = number_,
                                 .name = connection_->remote(),
                                 .local = connection_->local(),
                                 .address = connection_->address(),
                                 .version = version_,
                                 .traffic = traffic_,
                                 .stats = stats,
                                 .connected_at = connected_at_,
                                 .last_sent = last_sent_,
                                 .last_received = last_received_});
    row.inbound = true;
    row.relays_transactions = manners_.relay;
    row.wants_headers = manners_.wants_headers;
    row.permissions = permission_names(manners_.permissions);
    if (requests_.peers_tip()) row.synced_headers = requests_.peers_tip()->height.value;
    return row;
}

}  // namespace blockpub
