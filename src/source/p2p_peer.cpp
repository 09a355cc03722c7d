// SPDX-License-Identifier: MIT
#include "source/p2p_peer.hpp"

#include "source/p2p_peer_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace blockpub {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using SteadyClock = std::chrono::steady_clock;

constexpr milliseconds kFirstPause{500};
constexpr milliseconds kLongestPause{30'000};
constexpr milliseconds kFirstFaultPause{10'000};
constexpr milliseconds kLongestFaultPause{600'000};
constexpr milliseconds kAskedPause{5000};
constexpr minutes kForgiven{10};  // a session of so long makes up for faults
constexpr minutes kSameReasonAgain{10};

milliseconds doubled(milliseconds first, unsigned times, milliseconds longest) {
    return std::min<milliseconds>(first * (1 << std::min(times, 16U)), longest);
}

}  // namespace

Peer::Peer(std::uint32_t number, PeerAddress address, const ChainParams& params, milliseconds timeout,
           PeerHost& host, const Log& log)
    : number_(number),
      address_(std::move(address)),
      name_(address_.text()),
      params_(params),
      timeout_(timeout),
      host_(host),
      log_(log) {}

void Peer::call() {
    ++session_number_;
    connection_ = host_.dial(
        address_, {.allowed = [this](const IpAddress& address) { return host_.allows(address); },
                   .connected = [this](const SocketAddress& local,
                                       const SocketAddress& remote) { connected(local, remote); },
                   .received = [this](ByteSpan bytes) { received(bytes); },
                   .drained =
                       [this] {
                           if (ready()) host_.peer_drained(*this);
                       },
                   .closed = [this](const std::string& reason, bool faulty) { closed(reason, faulty); }});
}

void Peer::connected(const SocketAddress& local, const SocketAddress& remote) {
    local_ = local.text();
    remote_ = remote.text();
    remote_address_ = remote.address;
    connected_at_ = host_.now_seconds();
    last_sent_ = last_received_ = last_block_ = last_transaction_ = 0;
    fee_filter_.reset();
    mempool_asked_ = false;
    compact_known_ = compact_asked_ = compact_wanted_ = false;
    session_.emplace(host_.session_options(), static_cast<PeerSessionHost&>(*this), SteadyClock::now());
    session_->begin();
}

void Peer::received(ByteSpan bytes) {
    if (!session_) return;
    last_received_ = host_.now_seconds();
    settle(session_->receive(bytes, SteadyClock::now()));
}

void Peer::closed(const std::string& reason, bool faulty) {
    if (session_ && !session_->anything_received()) {
        return end(
            fmt::format("{} before it said a word: a node of another chain than {} does so, one that has "
                        "banned this address, and the port of a node's RPC",
                        reason, params_.name),
            Blame::network);
    }
    end(reason, faulty ? Blame::peer : Blame::network);
}

void Peer::drop(const std::string& reason, Blame blame) {
    if (connection_) end(reason, blame);
}

void Peer::close() {
    closed_ = true;
    headers_.reset();
    session_.reset();
    connection_.reset();
}

/// Ends the session where its own result says so.
void Peer::settle(const Result<void>& result) {
    if (result) return update_pause();
    const bool faulty = result.error().code == Errc::corrupt;
    end(result.error().context, faulty ? Blame::peer : Blame::silence);
}

void Peer::end(const std::string& reason, Blame blame) {
    const bool was_ready = ready();
    const auto now = SteadyClock::now();
    const bool lasted = was_ready && now - ready_since_ >= kForgiven;
    const bool news = std::exchange(news_, false);
    if (lasted) faults_ = 0;
    if (lasted || (news && blame == Blame::network)) failures_ = 0;
    const milliseconds pause = blame == Blame::nobody ? kAskedPause
                               : blame == Blame::peer
                                   ? doubled(kFirstFaultPause, faults_++, kLongestFaultPause)
                                   : doubled(kFirstPause, failures_++, kLongestPause);
    next_call_ = now + pause;
    past_ = totals();
    headers_.reset();
    session_.reset();
    connection_.reset();
    local_.clear();
    remote_.clear();
    remote_address_.reset();
    ++session_number_;
    host_.connection_ended(blame);
    if (blame == Blame::nobody) {
        log_.info("Peer {}: disconnected: {}", name_, reason);
    } else {
        log_end(reason, pause);
    }
    if (was_ready) host_.peer_lost(*this);
}

void Peer::log_end(const std::string& reason, milliseconds pause) {
    const auto now = SteadyClock::now();
    if (reason == last_reason_ && now - last_reason_logged_ < kSameReasonAgain) {
        log_.debug("Peer {}: {}", name_, reason);
        return;
    }
    last_reason_ = reason;
    last_reason_logged_ = now;
    if (!lasting_) return log_.warning("Peer {}: {}.", name_, reason);
    log_.warning("Peer {}: {}. Trying again in {:.1f} s.", name_, reason,
                 std::chrono::duration<double>(pause).count());
}

void Peer::tick(Time now) {
    if (closed_) return;
    if (!connection_) {
        if (now >= next_call_ && !over()) call();
        return;
    }
    if (!session_ || connection_->paused()) return;
    if (auto ticked = session_->tick(now); !ticked) return settle(ticked);
    if (headers_) settle(headers_->tick(now));
}

void Peer::send_bytes(std::vector<std::uint8_t> bytes) {
    last_sent_ = host_.now_seconds();
    connection_->send(std::move(bytes));
}

void Peer::note_block() {
    last_block_ = host_.now_seconds();
    note_news();
}

void Peer::note_news() {
    news_ = true;
    last_reason_.clear();
}

void Peer::session_ready() {
    ready_since_ = SteadyClock::now();
    const PeerVersion& peer = *session_->peer();
    log_.info("Peer {}: connected to {}, height {}", name_, peer.user_agent, peer.start_height);
    headers_.emplace(params_, timeout_, static_cast<HeaderSyncHost&>(*this));
    headers_->begin(ready_since_);
    host_.peer_ready(*this);
}

void Peer::send_get_headers(const GetHeaders& message) {
    session_->send("getheaders", encode_get_headers(message));
}

void Peer::request_blocks(const std::vector<BlockHash>& hashes) {
    std::vector<InventoryItem> items;
    items.reserve(hashes.size());
    for (const BlockHash& hash : hashes) items.push_back(wanted_block(hash));
    session_->send("getdata", encode_inventory(items));
}

void Peer::ask_chain(Question question) {
    host_.ask_chain(*this, std::move(question));
}

void Peer::peer_chain_changed(const HeaderAnswer& answer) {
    note_news();
    host_.peer_chain_changed(*this, answer);
}

void Peer::chain_answered(std::uint64_t session, HeaderAnswer answer) {
    if (session != session_number_ || !headers_) return;
    settle(headers_->answer(std::move(answer), SteadyClock::now()));
}

void Peer::ask_headers_anew(Time now) {
    if (headers_) headers_->begin_anew(now);
}

void Peer::update_pause() {
    if (!session_ || !connection_) return;
    const bool pause = host_.reading_paused() || (headers_ && headers_->asking_chain());
    if (pause == connection_->paused()) return;
    if (!pause) {
        const auto now = SteadyClock::now();
        session_->resume(now);
        if (headers_) headers_->resume(now);
    }
    connection_->pause(pause);
}

const HeaderDesk::Point* Peer::best() const {
    return headers_ && headers_->best() ? &*headers_->best() : nullptr;
}

bool Peer::best_unchecked() const {
    return headers_ && headers_->best_unchecked();
}

bool Peer::keeps_all_blocks() const {
    return (session_->peer()->services & kServiceNetwork) != 0;
}

std::optional<Height> Peer::presync_height() const {
    return headers_ ? headers_->presync_height() : std::nullopt;
}

PeerList::Totals Peer::totals() const {
    PeerList::Totals totals = past_;
    if (!session_) return totals;
    totals.bytes_sent += session_->traffic().sent();
    totals.bytes_received += session_->traffic().received();
    return totals;
}

PeerRow Peer::row(Time now) const {
    PeerRow row = make_peer_row({.number = number_,
                                 .name = name_,
                                 .local = local_,
                                 .address = *remote_address_,
                                 .version = *session_->peer(),
                                 .traffic = session_->traffic(),
                                 .stats = session_->stats(now),
                                 .connected_at = connected_at_,
                                 .last_sent = last_sent_,
                                 .last_received = last_received_});
    row.last_block = last_block_;
    row.last_transaction = last_transaction_;
    row.relays_transactions = relays();
    row.compact_to = compact_asked_;
    row.compact_from = compact_wanted_;
    if (const auto presync = presync_height()) row.presynced_headers = presync->value;
    if (const HeaderDesk::Point* const last = best()) row.synced_headers = last->height.value;
    return row;
}

}  // namespace blockpub
