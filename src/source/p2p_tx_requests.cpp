// SPDX-License-Identifier: MIT
#include "source/p2p_tx_requests.hpp"

#include <algorithm>

namespace blockpub {

void TransactionRequests::announce(PeerNumber number, const InventoryItem& item) {
    Peer& peer = peers_[number];
    if (peer.announced.size() >= limits_.announced) return;
    Entry& entry = entries_[item.hash];
    const bool told = std::ranges::find(entry.announced_by, number) != entry.announced_by.end();
    if (told || entry.asked_of == number) return;
    entry.announced_by.push_back(number);
    peer.announced.push_back(item);
}

std::vector<InventoryItem> TransactionRequests::ask(PeerNumber number, Time now) {
    expire(now);
    forget_answered();
    std::vector<InventoryItem> asked;
    Peer& peer = peers_[number];
    std::deque<InventoryItem> later;
    while (!peer.announced.empty() && peer.in_flight < limits_.in_flight) {
        const InventoryItem item = peer.announced.front();
        peer.announced.pop_front();
        const auto found = entries_.find(item.hash);
        if (found == entries_.end()) continue;
        Entry& entry = found->second;
        const auto told = std::ranges::find(entry.announced_by, number);
        if (told == entry.announced_by.end()) continue;
        if (entry.asked_of) {
            later.push_back(item);
            continue;
        }
        entry.announced_by.erase(told);
        entry.asked_of = number;
        entry.since = now;
        in_flight_.emplace_back(now, item.hash);
        ++peer.in_flight;
        asked.push_back(item);
    }
    peer.announced.insert(peer.announced.begin(), later.begin(), later.end());
    return asked;
}

void TransactionRequests::expire(Time now) {
    while (!in_flight_.empty() && now - in_flight_.front().first >= limits_.patience) {
        const auto question = in_flight_.front();
        in_flight_.pop_front();
        if (!is_open(question)) continue;
        const auto found = entries_.find(question.second);
        release(found->second);
        drop_if_nobody_has_it(found);
    }
}

bool TransactionRequests::is_open(const std::pair<Time, Hash>& question) const {
    const auto found = entries_.find(question.second);
    return found != entries_.end() && found->second.asked_of && found->second.since == question.first;
}

/// A peer may announce, and not have, as fast as it can: what it was asked would add up until its time is
/// over.
void TransactionRequests::forget_answered() {
    if (in_flight_.size() <= 2 * limits_.in_flight * peers_.size()) return;
    std::erase_if(in_flight_, [this](const auto& question) { return !is_open(question); });
}

/// The peer that it was asked of owes it no more.
void TransactionRequests::release(Entry& entry) {
    if (!entry.asked_of) return;
    const auto peer = peers_.find(*entry.asked_of);
    if (peer != peers_.end()) --peer->second.in_flight;
    entry.asked_of.reset();
}

void TransactionRequests::drop_if_nobody_has_it(Entries::iterator entry) {
    if (!entry->second.asked_of && entry->second.announced_by.empty()) entries_.erase(entry);
}

void TransactionRequests::settle(const Hash& hash) {
    const auto found = entries_.find(hash);
    if (found == entries_.end()) return;
    release(found->second);
    entries_.erase(found);
}

bool TransactionRequests::decline(PeerNumber number, const Hash& hash) {
    const auto found = entries_.find(hash);
    if (found == entries_.end() || found->second.asked_of != number) return false;
    release(found->second);
    drop_if_nobody_has_it(found);
    return true;
}

void TransactionRequests::forget(PeerNumber number) {
    if (peers_.erase(number) == 0) return;
    for (auto entry = entries_.begin(); entry != entries_.end();) {
        const auto next = std::next(entry);
        std::erase(entry->second.announced_by, number);
        if (entry->second.asked_of == number) entry->second.asked_of.reset();
        drop_if_nobody_has_it(entry);
        entry = next;
    }
}

}  // namespace blockpub
