// SPDX-License-Identifier: MIT
#include "source/p2p_server.hpp"

#include "source/p2p_eviction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace blockpub {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ServerClock = std::chrono::steady_clock;

/// Transactions are told of so often.
constexpr milliseconds kServerTick{200};
constexpr int kEventsInATurn = 1000;
/// Lines about single peers, in a minute; the rest is for -debug=net.
constexpr int kLinesAMinute = 20;

milliseconds server_tick(milliseconds peer_timeout) {
    return std::clamp<milliseconds>(peer_timeout / 4, milliseconds{50}, kServerTick);
}

}  // namespace

P2pServer::P2pServer(PeerServerOptions options, std::unique_ptr<PeerListener> listener, PeerServerParts parts)
    : options_(std::move(options)),
      parts_(parts),
      log_(&parts.logger, LogCategory::net),
      listener_(std::move(listener)),
      post_(listener_->poster()),
      active_(options_.active),
      chain_(parts.store, parts.blocks, parts.params),
      relay_(parts.mempool),
      upload_(options_.upload_target),
      shown_upload_(upload_.shown(parts.clock.now_seconds())) {}

P2pServer::~P2pServer() {
    stop();
}

void P2pServer::start() {
    cursor_ = parts_.bus.open_cursor([this] { wake(); });
    listener_->start(
        server_tick(options_.peer_timeout),
        {.accepted =
             [this](std::unique_ptr<InboundConnection> connection) { accepted(std::move(connection)); },
         .tick = [this] { tick(); }});
}

void P2pServer::stop() {
    listener_->stop([this] {
        cursor_.reset();
        peers_.clear();
        show(ServerClock::now());
    });
}

PeerVersion P2pServer::own_version() {
    const ChainStatus status = parts_.chain.status();
    PeerVersion version;
    version.services = kServiceWitness | kServiceLimited;
    if (!options_.prunes && !status.pruned_to) version.services |= kServiceNetwork;
    version.time = now_seconds();
    version.nonce = options_.nonce;
    version.user_agent = options_.user_agent;
    version.start_height = static_cast<std::int32_t>(status.tip.height.value);
    version.relay = false;  // no transactions are taken
    return version;
}

bool P2pServer::may_send_block(std::int64_t time) const {
    if (!upload_.history_reached(now_seconds())) return true;
    return parts_.chain.status().tip_time - time <= UploadTarget::kHistoryAge;
}

bool P2pServer::is_banned(const InboundConnection& connection, std::uint32_t permissions) const {
    return options_.bans != nullptr && !has_permission(permissions, kNoBanPermission) &&
           options_.bans->contains(connection.address());
}

bool P2pServer::make_room(const InboundConnection& newcomer, std::uint32_t permissions) {
    if (peers_.size() < options_.max_peers) return true;
    std::vector<SeatedPeer> here;
    for (const auto& [number, peer] : peers_) {
        if (peer->ended()) continue;
        here.push_back({.number = number,
                        .address = peer->connection().address(),
                        .ready = peer->ready(),
                        .safe = has_permission(peer->permissions(), kNoBanPermission)});
    }
    if (here.size() < options_.max_peers) return true;
    const auto evicted =
        peer_to_evict(std::move(here), newcomer.address(), has_permission(permissions, kNoBanPermission));
    if (!evicted) return false;
    InboundPeer& peer = *peers_.at(*evicted);
    note(fmt::format("Peer {} came, and {} are here already (-maxconnections): {} has to go for it",
                     newcomer.remote(), options_.max_peers, peer.connection().remote()));
    peer.end("another has its place", false);
    return true;
}

void P2pServer::accepted(std::unique_ptr<InboundConnection> connection) {
    std::uint32_t permissions = connection->permissions();
    for (const WhitelistedPeers& listed : options_.whitelist) {
        if (listed.incoming && listed.subnet.contains(connection->address()))
            permissions |= listed.permissions;
    }
    const std::string& name = connection->remote();
    if (!active_) return note(fmt::format("Peer {} came, and the network is not active: refused", name));
    if (is_banned(*connection, permissions)) {
        return note(fmt::format("Peer {} came and is banned: refused", name));
    }
    if (!make_room(*connection, permissions)) {
        return note(fmt::format(
            "Peer {} came, and the {} that are here stay (-maxconnections, -whitelist=noban@): refused", name,
            options_.max_peers));
    }
    const std::uint32_t number = next_number_++;
    const auto place = peers_
                           .emplace(number, std::make_unique<InboundPeer>(
                                                number,
                                                InboundPeer::Options{.magic = parts_.params.magic,
                                                                     .permissions = permissions,
                                                                     .timeout = options_.peer_timeout},
                                                std::move(connection), static_cast<InboundHost&>(*this)))
                           .first;
    place->second->begin();
}

void P2pServer::peer_ready(InboundPeer& peer) {
    const auto now = ServerClock::now();
    PeerRow row = peer.row(now);
    log_.debug("Peer {}, which came, speaks version {}", row.address, row.protocol);
    const MutexLock lock(mutex_);
    shown_rows_.insert_or_assign(peer.number(), std::move(row));
}

void P2pServer::go_on(InboundPeer& peer) {
    post_([this, number = peer.number()] {
        const auto found = peers_.find(number);
        if (found != peers_.end()) found->second->work();
    });
}

void P2pServer::peer_ended(InboundPeer& peer, const std::string& reason, bool fault) {
    const std::string line =
        fmt::format("Peer {}, which came, is left: {}", peer.connection().remote(), reason);
    if (fault) {
        note(line);
    } else {
        log_.debug("{}", line);
    }
    post_([this, number = peer.number()] {
        const auto found = peers_.find(number);
        if (found == peers_.end()) return;
        past_.bytes_sent += found->second->traffic().sent();
        past_.bytes_received += found->second->traffic().received();
        peers_.erase(found);
        const MutexLock lock(mutex_);
        shown_rows_.erase(number);
    });
}

/// A line for the log, unless there were many of late: hostile peers do not fill the disk.
void P2pServer::note(const std::string& line) {
    const auto now = ServerClock::now();
    if (now - lines_since_ >= std::chrono::minutes(1)) {
        lines_since_ = now;
        lines_ = 0;
    }
    if (++lines_ > kLinesAMinute) {
        log_.debug("{}", line);
    } else {
        log_.info("{}", line);
    }
}

void P2pServer::disconnect(std::uint32_t number) {
    post_([this, number] {
        const auto found = peers_.find(number);
        if (found != peers_.end()) found->second->end("it was told to go", false);
    });
}

void P2pServer::disconnect_banned() {
    post_([this] {
        for (const auto& [number, peer] : peers_) {
            if (is_banned(peer->connection(), peer->permissions())) peer->end("it is banned", false);
        }
    });
}

void P2pServer::ping_all() {
    post_([this] {
        for (const auto& [number, peer] : peers_) peer->ping_now();
    });
}

void P2pServer::set_active(bool active) {
    active_ = active;
    if (active) return;
    post_([this] {
        for (const auto& [number, peer] : peers_) peer->end("the network is not active any more", false);
    });
}

void P2pServer::tick() {
    take_events();
    announce_transactions();
    const auto now = ServerClock::now();
    const auto second = std::min<milliseconds>(seconds(1), options_.peer_timeout / 4);
    if (now - last_second_ < second) return;
    last_second_ = now;
    for (const auto& [number, peer] : peers_) peer->tick(now);
    show(now);
}

/// On the thread of whoever releases events.
void P2pServer::wake() {
    if (!woken_.exchange(true)) post_([this] { take_events(); });
}

void P2pServer::take_events() {
    woken_ = false;
    std::optional<Height> moved_above;
    int taken = 0;
    for (; taken < kEventsInATurn; ++taken) {
        const auto next = cursor_->peek();
        // A log that cannot be read is tried again with the next tick.
        if (!next || *next == nullptr) break;
        if (const auto* const tip = std::get_if<UpdatedBlockTip>(*next)) {
            if (!tip->initial_download && tip->tip_hash != tip->fork_hash)
                moved_above = std::min(moved_above.value_or(tip->fork_height), tip->fork_height);
        } else if (const auto* const added = std::get_if<TransactionAddedToMempool>(*next)) {
            relay_.add(added->txid);
        }
        cursor_->advance();
    }
    if (moved_above) {
        for (const auto& [number, peer] : peers_) peer->chain_moved(*moved_above);
    }
    if (taken == kEventsInATurn) wake();
}

void P2pServer::announce_transactions() {
    if (!relay_.anything_fresh()) return;
    const bool heard =
        std::ranges::any_of(peers_, [](const auto& entry) { return entry.second->wants_transactions(); });
    if (!heard) return relay_.skip();
    relay_.publish();
    for (const auto& [number, peer] : peers_) peer->transactions_waiting();
}

void P2pServer::show(Time now) {
    std::map<std::uint32_t, PeerRow> rows;
    Totals totals = past_;
    for (const auto& [number, peer] : peers_) {
        totals.bytes_sent += peer->traffic().sent();
        totals.bytes_received += peer->traffic().received();
        if (peer->ready()) rows.emplace(number, peer->row(now));
    }
    const MutexLock lock(mutex_);
    shown_rows_ = std::move(rows);
    shown_totals_ = totals;
    shown_upload_ = upload_.shown(now_seconds());
}

std::vector<PeerRow> P2pServer::rows() const {
    std::vector<PeerRow> rows;
    const MutexLock lock(mutex_);
    rows.reserve(shown_rows_.size());
    for (const auto& [number, row] : shown_rows_) rows.push_back(row);
    return rows;
}

PeerList::Totals P2pServer::totals() const {
    const MutexLock lock(mutex_);
    return shown_totals_;
}

PeerList::Upload P2pServer::upload() const {
    const MutexLock lock(mutex_);
    return shown_upload_;
}

std::vector<PeerList::Listening> P2pServer::listening() const {
    std::vector<Listening> listening;
    for (const PeerListener::Bound& bound : listener_->addresses()) {
        if (!bound.every_address) listening.push_back({bound.host, bound.port});
    }
    return listening;
}

}  // namespace blockpub
