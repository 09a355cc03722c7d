// SPDX-License-Identifier: MIT
#include "source/p2p_downloads.hpp"

#include <algorithm>

namespace blockpub {
namespace {

/// Of one peer; more than can be asked of it at a time.
constexpr std::size_t kMostLacks = 4096;

}  // namespace

void BlockDownloads::offer(PeerNumber peer, const std::vector<HeaderDesk::Missing>& missing) {
    peers_[peer].offers.assign(missing.begin(), missing.end());
}

std::size_t BlockDownloads::quota(const Peer& peer) const {
    if (peer.average_bytes == 0) return limits_.least_in_flight;
    return std::clamp(static_cast<std::size_t>(limits_.bytes_in_flight / peer.average_bytes),
                      limits_.least_in_flight, limits_.most_in_flight);
}

bool BlockDownloads::pauses(const Peer& peer, const BlockHash& hash, Time now) {
    const auto lack = peer.lacks.find(hash);
    return lack != peer.lacks.end() && now < lack->second.until;
}

bool BlockDownloads::may_ask(const Peer& peer, const BlockHash& hash, bool idle_peer, Time now) const {
    if (settling_.contains(hash) || peer.requests.contains(hash)) return false;
    if (pauses(peer, hash, now)) return false;
    const auto asked = asked_of_.find(hash);
    if (asked == asked_of_.end()) return true;
    // At the tip somebody waits for each block.
    const auto patience = asked_of_.size() <= limits_.few ? limits_.second_peer_of_few : limits_.second_peer;
    return idle_peer && asked->second.peers == 1 && now - asked->second.since >= patience;
}

std::vector<BlockHash> BlockDownloads::ask(PeerNumber number, Time now) {
    std::vector<BlockHash> asked;
    Peer& peer = peers_[number];
    const bool idle_peer = peer.requests.empty();
    if (full() || peer.requests.size() >= quota(peer)) return asked;
    for (const HeaderDesk::Missing& offer : peer.offers) {
        if (peer.requests.size() >= quota(peer)) break;
        if (!may_ask(peer, offer.hash, idle_peer, now)) continue;
        add_request(peer, offer, now);
        asked.push_back(offer.hash);
    }
    std::erase_if(peer.offers,
                  [&](const HeaderDesk::Missing& offer) { return peer.requests.contains(offer.hash); });
    return asked;
}

bool BlockDownloads::request(PeerNumber number, const HeaderDesk::Missing& block, Time now) {
    Peer& peer = peers_[number];
    if (peer.requests.contains(block.hash)) return false;
    add_request(peer, block, now);
    return true;
}

void BlockDownloads::add_request(Peer& peer, const HeaderDesk::Missing& block, Time now) {
    peer.requests.emplace(block.hash, Request{block.height, now});
    if (peer.requests.size() == 1) peer.last_block = now;
    Asked& entry = asked_of_[block.hash];
    ++entry.peers;
    entry.since = now;
}

void BlockDownloads::drop_request(Peer& peer, const BlockHash& hash) {
    if (peer.requests.erase(hash) == 0) return;
    const auto asked = asked_of_.find(hash);
    if (asked != asked_of_.end() && --asked->second.peers == 0) asked_of_.erase(asked);
}

std::optional<std::chrono::steady_clock::duration> BlockDownloads::receive(PeerNumber number,
                                                                           const BlockHash& hash,
                                                                           std::size_t bytes, Time now) {
    Peer& peer = peers_[number];
    const auto request = peer.requests.find(hash);
    if (request == peer.requests.end()) return std::nullopt;
    const auto took = now - request->second.since;
    drop_request(peer, hash);
    peer.last_block = now;
    peer.average_bytes = peer.average_bytes == 0 ? bytes : (peer.average_bytes * 15 + bytes) / 16;
    if (settling_.emplace(hash, bytes).second) delivered_bytes_ += bytes;
    return took;
}

bool BlockDownloads::decline(PeerNumber number, const BlockHash& hash, Time now) {
    Peer& peer = peers_[number];
    if (!peer.requests.contains(hash)) return false;
    drop_request(peer, hash);
    if (peer.lacks.size() >= kMostLacks) peer.lacks.clear();
    Lack& lack = peer.lacks[hash];
    lack.pause = std::clamp(2 * lack.pause, limits_.lacking, limits_.lacking_longest);
    lack.until = now + lack.pause;
    return true;
}

bool BlockDownloads::has_declined(PeerNumber number, const BlockHash& hash, Time now) const {
    const auto found = peers_.find(number);
    return found != peers_.end() && pauses(found->second, hash, now);
}

void BlockDownloads::settle(const BlockHash& hash) {
    const auto found = settling_.find(hash);
    if (found == settling_.end()) return;
    delivered_bytes_ -= found->second;
    settling_.erase(found);
    for (auto& [number, peer] : peers_) {
        const auto offer = std::ranges::find(peer.offers, hash, &HeaderDesk::Missing::hash);
        if (offer != peer.offers.end()) peer.offers.erase(offer);
        peer.lacks.erase(hash);
    }
}

void BlockDownloads::forget(PeerNumber number) {
    const auto found = peers_.find(number);
    if (found == peers_.end()) return;
    while (!found->second.requests.empty()) {
        const BlockHash hash = found->second.requests.begin()->first;
        drop_request(found->second, hash);
    }
    peers_.erase(found);
}

std::size_t BlockDownloads::in_flight(PeerNumber number) const {
    const auto found = peers_.find(number);
    return found == peers_.end() ? 0 : found->second.requests.size();
}

std::vector<HeaderDesk::Missing> BlockDownloads::in_flight_of(PeerNumber number) const {
    std::vector<HeaderDesk::Missing> blocks;
    const auto found = peers_.find(number);
    if (found == peers_.end()) return blocks;
    for (const auto& [hash, request] : found->second.requests) blocks.push_back({hash, request.height});
    std::ranges::sort(blocks, {}, &HeaderDesk::Missing::height);
    return blocks;
}

std::optional<BlockDownloads::Time> BlockDownloads::waiting_since(PeerNumber number) const {
    const auto found = peers_.find(number);
    if (found == peers_.end() || found->second.requests.empty()) return std::nullopt;
    return found->second.last_block;
}

bool BlockDownloads::has_offers(PeerNumber number) const {
    const auto found = peers_.find(number);
    return found != peers_.end() && !found->second.offers.empty();
}

}  // namespace blockpub
