// SPDX-License-Identifier: MIT
#include "source/p2p_follower.hpp"

#include "base/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace blockpub {
namespace {

using SteadyClock = std::chrono::steady_clock;

}  // namespace

Follower::Follower(FollowerOptions options, PeerNetwork& network, Chain& chain, const ChainParams& params,
                   const Clock& clock, Logger& logger, ProgressSink* sink, PeerBoard& board)
    : options_(std::move(options)),
      network_(network),
      post_(network.poster()),
      chain_(chain),
      params_(params),
      clock_(clock),
      log_(&logger, LogCategory::net),
      board_(board),
      progress_(options_.progress_every, log_, sink),
      downloads_(options_.limits),
      active_(options_.active),
      reading_since_(SteadyClock::now()) {
    for (const PeerAddress& address : options_.peers) add_peer(address, true);
    if (options_.mempool == nullptr) return;
    relay_ = std::make_unique<TransactionFeed>(static_cast<TransactionFeedHost&>(*this), post_,
                                               *options_.mempool, log_, options_.transaction_patience);
    relay_->set_following(!peers_.empty());
    compact_.emplace(options_.mempool->board());
}

Peer& Follower::add_peer(PeerAddress address, bool lasting) {
    peers_.push_back(std::make_unique<Peer>(next_number_++, std::move(address), params_,
                                            options_.peer_timeout, static_cast<PeerHost&>(*this), log_));
    peers_.back()->set_lasting(lasting);
    return *peers_.back();
}

void Follower::remove_peer(const Peer& peer) {
    BLOCKPUB_CHECK(!peer.calling());
    std::erase_if(peers_, [&](const auto& entry) { return entry.get() == &peer; });
}

void Follower::set_active(bool active) {
    if (std::exchange(active_, active) == active) return;
    log_.info("SetNetworkActive: {}", active);
    for (const auto& peer : peers_) {
        peer->drop("network activity is switched off", Peer::Blame::nobody);
        peer->call_soon();
    }
}

bool Follower::allows(const IpAddress& address) const {
    return options_.bans == nullptr || !options_.bans->contains(address);
}

std::unique_ptr<PeerConnection> Follower::dial(const PeerAddress& address,
                                               PeerConnection::Handlers handlers) {
    return network_.connect(address, options_.connect_timeout, std::move(handlers));
}

PeerSessionOptions Follower::session_options() {
    PeerSessionOptions session;
    session.magic = params_.magic;
    session.timeout = options_.peer_timeout;
    session.version.time = clock_.now_seconds();
    session.version.nonce = options_.nonce;
    session.version.user_agent = options_.user_agent;
    session.version.start_height = static_cast<std::int32_t>(chain_.status().tip.height.value);
    session.version.relay = relay_ != nullptr;
    return session;
}

void Follower::ask_chain(const Peer& peer, HeaderSyncHost::Question question) {
    auto posted =
        chain_.post_headers([this, post = post_, number = peer.number(), session = peer.session_number(),
                             question = std::move(question)](HeaderDesk& desk) {
            auto answer = std::make_shared<HeaderAnswer>(question(desk));
            post([this, number, session, answer] {
                if (Peer* const asked = find(number, session))
                    asked->chain_answered(session, std::move(*answer));
            });
        });
    if (!posted) chain_ended(posted.error());
}

/// The chain takes nothing any more. Its own line says why; peers have nothing to do then.
void Follower::chain_ended(const Error& error) {
    if (std::exchange(ended_, true) || error.code == Errc::stopped) return;
    log_.error("No peer is followed from here on: {}", error.context);
}

void Follower::peer_ready(Peer& peer) {
    ++counters_.sessions;
    if (relay_ && peer.relays()) relay_->peer_ready(peer.number());
    show_board(SteadyClock::now());
}

void Follower::peer_lost(Peer& peer) {
    downloads_.forget(peer.number());
    if (relay_) relay_->peer_lost(peer.number());
    if (compact_) compact_->forget(peer.number());
    show_board(SteadyClock::now());
    plan();
}

void Follower::connection_ended(PeerBlame blame) {
    switch (blame) {
        case PeerBlame::network:
            ++counters_.lost;
            break;
        case PeerBlame::silence:
            ++counters_.silent;
            break;
        case PeerBlame::peer:
            ++counters_.faulty;
            break;
        case PeerBlame::nobody:
            break;
    }
}

void Follower::tick() {
    const auto now = SteadyClock::now();
    std::erase_if(peers_, [](const auto& peer) { return peer->over(); });
    for (const auto& peer : peers_) {
        if (ended_ || !active_) break;
        // Before its own tick, in which it may ask the chain something, and pause meanwhile.
        if (peer->ready()) drop_slow(*peer, now);
        peer->tick(now);
    }
    show_board(now);
    const ChainStatus status = chain_.status();
    const std::uint64_t best_height = best_height_of_peers();
    FollowProgress::State state{.height = status.tip.height.value,
                                .best_header = best_height,
                                .peers = ready_peers(),
                                .nodes = active_ ? peers_.size() : 0};
    for (const auto& peer : peers_) {
        if (const auto presync = peer->presync_height())
            state.presync = std::max(state.presync, presync->value);
    }
    progress_.tick(state, now);
    counters_.blocks_in_flight = 0;
    for (const auto& peer : peers_) counters_.blocks_in_flight += downloads_.in_flight(peer->number());
    counters_.bytes_waiting = downloads_.bytes_delivered();
    board_.show(progress_.lag(), counters_);
    if (relay_ && !ended_) tick_relay(status, now);
    // Nothing under way, and yet not there: whatever was lost is asked for again.
    if (downloads_.idle() && (status.filling || status.tip.height.value < best_height)) plan();
    fill_all();
}

void Follower::close() {
    for (const auto& peer : peers_) peer->close();
    board_.show({}, board_.totals());
}

void Follower::show_board(Time now) {
    std::vector<PeerRow> rows;
    PeerList::Totals totals;
    const std::int64_t height = chain_.status().tip.height.value;
    for (const auto& peer : peers_) {
        const PeerList::Totals of_peer = peer->totals();
        totals.bytes_sent += of_peer.bytes_sent;
        totals.bytes_received += of_peer.bytes_received;
        if (!peer->ready()) continue;
        PeerRow row = peer->row(now);
        if (row.synced_headers >= 0) row.synced_blocks = std::min(row.synced_headers, height);
        for (const auto& block : downloads_.in_flight_of(peer->number()))
            row.in_flight.push_back(block.height.value);
        rows.push_back(std::move(row));
    }
    board_.show(std::move(rows), totals);
}

Peer* Follower::find(std::uint32_t number, std::uint64_t session) const {
    Peer* const peer = find(number);
    return peer != nullptr && peer->session_number() == session ? peer : nullptr;
}

Peer* Follower::find(std::uint32_t number) const {
    const auto found = std::ranges::find(peers_, number, &Peer::number);
    return found == peers_.end() ? nullptr : found->get();
}

/// Of those whose chain is here as headers; 0 without any.
std::uint64_t Follower::best_height_of_peers() const {
    std::uint64_t best = 0;
    for (const auto& peer : peers_) {
        if (peer->ready() && peer->best() != nullptr)
            best = std::max<std::uint64_t>(best, peer->best()->height.value);
    }
    return best;
}

std::size_t Follower::ready_peers() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(peers_, [](const auto& peer) { return peer->ready(); }));
}

}  // namespace blockpub
