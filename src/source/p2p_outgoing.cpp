// SPDX-License-Identifier: MIT
#include "source/p2p_outgoing.hpp"

#include <algorithm>

namespace blockpub {

Result<void> OutgoingTransactions::hand_out(const TransactionRef& transaction) {
    {
        const MutexLock lock(mutex_);
        if (!any_taker_) return fail(Errc::unavailable, "no node that takes transactions is connected");
        const std::size_t size = transaction->raw().size();
        if (entries_.contains(transaction->txid())) return {};
        if (entries_.size() >= limits_.count || bytes_ + size > limits_.bytes)
            return fail(Errc::unavailable, "too many transactions are on their way to the nodes");
        entries_.emplace(transaction->txid(), Entry{.transaction = transaction,
                                                    .since = std::chrono::steady_clock::now(),
                                                    .order = next_order_++,
                                                    .told = {},
                                                    .questions = {}});
        by_wtxid_.emplace(transaction->wtxid(), transaction->txid());
        bytes_ += size;
    }
    wake_();
    return {};
}

bool OutgoingTransactions::is_on_its_way(const Txid& txid) const {
    const MutexLock lock(mutex_);
    return entries_.contains(txid);
}

bool OutgoingTransactions::is_following() const {
    const MutexLock lock(mutex_);
    return following_;
}

void OutgoingTransactions::set_following(bool following) {
    const MutexLock lock(mutex_);
    following_ = following;
}

void OutgoingTransactions::set_any_taker(bool any) {
    const MutexLock lock(mutex_);
    any_taker_ = any;
}

std::vector<TransactionRef> OutgoingTransactions::tell(PeerNumber peer) {
    const MutexLock lock(mutex_);
    std::map<std::uint64_t, TransactionRef> in_order;
    for (auto& [txid, entry] : entries_) {
        if (entry.told.insert(peer).second) in_order.emplace(entry.order, entry.transaction);
    }
    std::vector<TransactionRef> transactions;
    for (auto& [order, transaction] : in_order) transactions.push_back(std::move(transaction));
    return transactions;
}

TransactionRef OutgoingTransactions::find(const Hash& hash) const {
    const MutexLock lock(mutex_);
    auto entry = entries_.find(Txid(hash.wire_bytes()));
    if (entry == entries_.end()) {
        const auto txid = by_wtxid_.find(Wtxid(hash.wire_bytes()));
        if (txid == by_wtxid_.end()) return nullptr;
        entry = entries_.find(txid->second);
    }
    return entry == entries_.end() ? nullptr : entry->second.transaction;
}

std::vector<TransactionRef> OutgoingTransactions::all() const {
    const MutexLock lock(mutex_);
    std::vector<TransactionRef> transactions;
    transactions.reserve(entries_.size());
    for (const auto& [txid, entry] : entries_) transactions.push_back(entry.transaction);
    return transactions;
}

void OutgoingTransactions::fetched(const Txid& txid, PeerNumber peer, Time now) {
    const MutexLock lock(mutex_);
    const auto entry = entries_.find(txid);
    if (entry == entries_.end()) return;
    entry->second.questions.insert_or_assign(peer,
                                             Question{now + limits_.first_question, limits_.first_question});
}

std::vector<TransactionRef> OutgoingTransactions::questions(PeerNumber peer, Time now) {
    const MutexLock lock(mutex_);
    std::vector<TransactionRef> due;
    for (auto& [txid, entry] : entries_) {
        const auto question = entry.questions.find(peer);
        if (question == entry.questions.end() || now < question->second.due) continue;
        question->second.pause = std::min(2 * question->second.pause, limits_.longest_pause);
        question->second.due = now + question->second.pause;
        due.push_back(entry.transaction);
    }
    return due;
}

void OutgoingTransactions::erase(Entries::iterator entry) {
    bytes_ -= entry->second.transaction->raw().size();
    by_wtxid_.erase(entry->second.transaction->wtxid());
    entries_.erase(entry);
}

void OutgoingTransactions::settle(const Txid& txid) {
    const MutexLock lock(mutex_);
    const auto entry = entries_.find(txid);
    if (entry != entries_.end()) erase(entry);
}

void OutgoingTransactions::forget(PeerNumber peer) {
    const MutexLock lock(mutex_);
    for (auto& [txid, entry] : entries_) {
        entry.told.erase(peer);
        entry.questions.erase(peer);
    }
}

void OutgoingTransactions::expire(Time now) {
    const MutexLock lock(mutex_);
    for (auto entry = entries_.begin(); entry != entries_.end();) {
        const auto next = std::next(entry);
        if (now - entry->second.since >= limits_.keep) erase(entry);
        entry = next;
    }
}

}  // namespace blockpub
