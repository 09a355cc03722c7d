// SPDX-License-Identifier: MIT
#include "primitives/block.hpp"
#include "source/p2p_follower.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

// The follower's part about transactions, and blocks put together from them.

namespace blockpub {
namespace {

constexpr std::size_t kCompactPeers = 3;  // that send compact blocks unasked

}  // namespace

void Follower::peer_compact_block(Peer& peer, CompactBlock block) {
    if (compact_ && !catching_up_) compact_->keep(peer.number(), std::move(block));
}

/// The block that the chain waits for has come as a compact block: it is put together, unless it comes from
/// elsewhere already, or the peer did not have it just now.
void Follower::rebuild(Peer& peer, const HeaderDesk::Missing& block) {
    const auto now = std::chrono::steady_clock::now();
    if (downloads_.is_asked(block.hash) || downloads_.is_settling(block.hash) ||
        downloads_.has_declined(peer.number(), block.hash, now) ||
        !downloads_.request(peer.number(), block, now))
        return compact_->forget(peer.number());
    go_on_rebuilding(peer, block.hash, compact_->begin(peer.number()));
}

void Follower::go_on_rebuilding(Peer& peer, const BlockHash& hash, CompactBlocks::Step step) {
    using Kind = CompactBlocks::Step::Kind;
    if (step.kind == Kind::ask_transactions)
        return peer.request_block_transactions({.block = hash, .positions = std::move(step.positions)});
    auto block = step.kind == Kind::deliver ? ParsedBlock::parse(step.block)
                                            : Result<ParsedBlock>(fail(Errc::corrupt, "ambiguous"));
    if (!block) return peer.request_blocks({hash});
    static_cast<void>(
        downloads_.receive(peer.number(), hash, step.block.size(), std::chrono::steady_clock::now()));
    peer.note_block();
    ++counters_.blocks_received;
    deliver(peer, std::move(*block), true);
}

Result<void> Follower::peer_block_transactions(Peer& peer, const BlockTransactions& message) {
    if (!compact_) return {};
    auto step = compact_->take(peer.number(), message);
    if (step) {
        go_on_rebuilding(peer, message.block, std::move(*step));
    } else if (step.error().code == Errc::corrupt) {
        return forward_error(step);
    }
    return {};
}

/// Of a few peers, as it costs each of them bandwidth.
void Follower::ask_for_compact_blocks() {
    auto asked = static_cast<std::size_t>(std::ranges::count_if(
        peers_, [](const auto& peer) { return peer->ready() && peer->sends_compact_blocks(); }));
    for (const auto& peer : peers_) {
        if (asked >= kCompactPeers) break;
        if (peer->ready() && !peer->sends_compact_blocks() && peer->ask_compact_blocks()) ++asked;
    }
}

void Follower::peer_announced(Peer& peer, const std::vector<InventoryItem>& transactions) {
    if (!catching_up_) relay_->announced(peer.number(), transactions);
}

Result<void> Follower::peer_transaction(Peer& peer, const SharedBytes& raw) {
    if (catching_up_) return {};
    return relay_->received(peer.number(), raw);
}

void Follower::peer_lacks_transactions(Peer& peer, const std::vector<InventoryItem>& items) {
    if (relay_) relay_->lacking(peer.number(), items);
}

void Follower::peer_wants(Peer& peer, const std::vector<InventoryItem>& items) {
    if (relay_) relay_->wanted(peer.number(), items);
}

void Follower::peer_drained(Peer& peer) {
    if (relay_) relay_->drained(peer.number());
}

void Follower::send_inventory(std::uint32_t number, std::string_view message,
                              const std::vector<InventoryItem>& items) {
    if (Peer* const peer = find(number); peer != nullptr && peer->ready())
        peer->send_inventory(message, items);
}

bool Follower::by_wtxid(std::uint32_t number) const {
    const Peer* const peer = find(number);
    return peer != nullptr && peer->by_wtxid();
}

void Follower::send_transaction(std::uint32_t number, const SharedBytes& raw) {
    if (Peer* const peer = find(number); peer != nullptr && peer->ready()) peer->send_transaction(raw);
}

std::size_t Follower::unsent(std::uint32_t number) const {
    const Peer* const peer = find(number);
    return peer != nullptr && peer->ready() ? peer->unsent() : 0;
}

void Follower::drop_peer(std::uint32_t number, const std::string& reason) {
    if (Peer* const peer = find(number)) peer->drop(reason, Peer::Blame::peer);
}

/// What the mempool wants of the peers.
void Follower::tick_relay(const ChainStatus& status, Time now) {
    catching_up_ = status.initial_download;
    relay_->set_following(!peers_.empty());
    if (std::exchange(relay_tip_, status.tip.hash) != status.tip.hash) relay_->tip_changed();
    const MempoolSummary mempool = options_.mempool->board().summary();
    const std::int64_t least =
        catching_up_ ? kMaxMoney : std::max(mempool.min_fee.per_kvb, mempool.min_relay.per_kvb);
    for (const auto& peer : peers_) {
        if (!peer->ready()) continue;
        peer->send_fee_filter(least, now);
        if (!catching_up_ && mempool.loaded) peer->ask_mempool();
    }
    if (!catching_up_) ask_for_compact_blocks();
    relay_->tick(now);
    update_pauses();
}

}  // namespace blockpub
