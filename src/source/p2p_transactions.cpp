// SPDX-License-Identifier: MIT
#include "source/p2p_transactions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace blockpub {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Reasons of refusal.
constexpr std::string_view kInChain = "txn-already-known";
constexpr std::string_view kInMempool = "txn-already-in-mempool";
constexpr std::string_view kOtherWitness = "txn-same-nonwitness-data-in-mempool";
constexpr std::size_t kAtOnce = 64;            // transactions in one piece of the chain thread's work
constexpr std::size_t kRejectedKept = 50'000;  // hashes

template <class Tag>
Hash256<InventoryTag> inventory_hash(const Hash256<Tag>& hash) {
    return Hash256<InventoryTag>(hash.wire_bytes());
}

}  // namespace

void TransactionFeed::Recent::insert(const Hash& hash) {
    if (young_.size() >= kept_) old_ = std::exchange(young_, {});
    young_.insert(hash);
}

bool TransactionFeed::Recent::contains(const Hash& hash) const {
    return young_.contains(hash) || old_.contains(hash);
}

void TransactionFeed::Recent::clear() {
    young_.clear();
    old_.clear();
}

TransactionFeed::TransactionFeed(TransactionFeedHost& host, PeerNetwork::Poster post, MempoolService& mempool,
                                 const Log& log, std::chrono::milliseconds patience)
    : host_(host),
      post_(std::move(post)),
      mempool_(mempool),
      log_(log),
      requests_(TransactionRequests::Limits{.patience = patience}),
      orphans_(OrphanPool::Limits{}),
      outgoing_(OutgoingTransactions::Limits{},
                [this, wake = post_] {
                    wake([this] {
                        for (const PeerNumber peer : peers_) announce_outgoing(peer);
                    });
                }),
      rejected_(kRejectedKept) {}

void TransactionFeed::peer_ready(PeerNumber peer) {
    peers_.insert(peer);
    outgoing_.set_any_taker(true);
    announce_outgoing(peer);
}

void TransactionFeed::peer_lost(PeerNumber peer) {
    peers_.erase(peer);
    wanted_.erase(peer);
    outgoing_.set_any_taker(!peers_.empty());
    outgoing_.forget(peer);
    requests_.forget(peer);
    orphans_.forget(peer);
    fill_all(SteadyClock::now());
}

bool TransactionFeed::is_known(const Hash& hash) const {
    // What a client has sent since was judged anew then.
    const bool rejected = rejected_.contains(hash) && outgoing_.find(hash) == nullptr;
    return rejected || under_way_.contains(Wtxid(hash.wire_bytes())) ||
           orphans_.contains(Wtxid(hash.wire_bytes()));
}

void TransactionFeed::announced(PeerNumber peer, const std::vector<InventoryItem>& items) {
    for (const InventoryItem& item : items) {
        const bool wtxid = item.type == InventoryItem::witness_transaction;
        if (is_known(item.hash)) continue;
        // What has left the mempool may come again.
        const auto here = wtxid ? mempool_.board().find(Wtxid(item.hash.wire_bytes()))
                                : mempool_.board().find(Txid(item.hash.wire_bytes()));
        if (here) continue;
        const std::uint32_t type = wtxid ? std::uint32_t{InventoryItem::witness_transaction}
                                         : InventoryItem::transaction | InventoryItem::witness_flag;
        requests_.announce(peer, {type, item.hash});
    }
    fill(peer, SteadyClock::now());
}

Result<void> TransactionFeed::received(PeerNumber peer, const SharedBytes& raw) {
    auto transaction = MempoolTransaction::decode(raw);
    if (!transaction) {
        return fail(Errc::corrupt, fmt::format("it sent a transaction that does not decode: {}",
                                               transaction.error().context));
    }
    const MempoolTransaction& one = **transaction;
    requests_.settle(inventory_hash(one.txid()));
    requests_.settle(inventory_hash(one.wtxid()));
    if (mempool_.board().find(one.wtxid())) {
        outgoing_.settle(one.txid());
    } else if (!is_known(inventory_hash(one.wtxid()))) {
        enqueue(*transaction, peer);
    }
    hand_in();
    fill(peer, SteadyClock::now());
    return {};
}

void TransactionFeed::lacking(PeerNumber peer, const std::vector<InventoryItem>& items) {
    bool declined = false;
    for (const InventoryItem& item : items) declined |= requests_.decline(peer, item.hash);
    if (declined) fill_all(SteadyClock::now());
}

void TransactionFeed::enqueue(const TransactionRef& transaction, PeerNumber peer) {
    if (!under_way_.insert(transaction->wtxid()).second) return;
    waiting_bytes_ += transaction->raw().size();
    waiting_.push_back({transaction, peer});
}

/// Hands the next ones to the chain thread, which has one batch at a time: blocks come between.
void TransactionFeed::hand_in() {
    if (handing_in_ || waiting_.empty()) return;
    std::vector<Waiting> batch;
    std::vector<TransactionRef> transactions;
    while (!waiting_.empty() && batch.size() < kAtOnce) {
        batch.push_back(std::move(waiting_.front()));
        waiting_.pop_front();
        transactions.push_back(batch.back().transaction);
    }
    handing_in_ = true;
    auto posted = mempool_.post(std::move(transactions), [this, post = post_, batch = std::move(batch)](
                                                             MempoolService::Outcomes outcomes) mutable {
        post(
            [this, batch = std::move(batch), outcomes = std::move(outcomes)] { handed_in(batch, outcomes); });
    });
    // Else the chain has ended, and whoever follows it says so.
    if (!posted) waiting_.clear();
}

void TransactionFeed::handed_in(const std::vector<Waiting>& batch, const MempoolService::Outcomes& outcomes) {
    using Kind = TransactionOutcome::Kind;
    handing_in_ = false;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        const Waiting& one = batch[i];
        under_way_.erase(one.transaction->wtxid());
        waiting_bytes_ -= one.transaction->raw().size();
        if (!outcomes[i]) {
            log_.debug("transaction {} cannot be looked at: {}", one.transaction->txid().display_hex(),
                       outcomes[i].error().context);
        } else if (outcomes[i]->kind == Kind::refused) {
            refused(one, outcomes[i]->refusal);
        } else {
            taken(one);
        }
    }
    hand_in();
    fill_all(SteadyClock::now());
}

void TransactionFeed::taken(const Waiting& one) {
    const MempoolTransaction& transaction = *one.transaction;
    outgoing_.settle(transaction.txid());
    for (const OrphanPool::Orphan& orphan : orphans_.take_children(transaction.txid()))
        enqueue(orphan.transaction, orphan.peer);
}

void TransactionFeed::refused(const Waiting& one, const TransactionRefusal& refusal) {
    using Kind = TransactionRefusal::Kind;
    if (refusal.kind == Kind::missing_inputs) return keep_orphan(one);
    const MempoolTransaction& transaction = *one.transaction;
    log_.debug("transaction {} is not taken: {}", transaction.txid().display_hex(), refusal.text());
    // Not for another witness: whoever gives that away would end what a client has sent.
    if (outgoing_.find(inventory_hash(transaction.wtxid())) != nullptr) outgoing_.settle(transaction.txid());
    if (refusal.reason == kInMempool) return;
    if (refusal.reason == kInChain) rejected_.insert(inventory_hash(transaction.txid()));
    rejected_.insert(inventory_hash(transaction.wtxid()));
    if (refusal.kind == Kind::invalid) {
        host_.drop_peer(one.peer, fmt::format("it sent transaction {}, which is invalid: {}",
                                              transaction.txid().display_hex(), refusal.text()));
    }
}

/// Keeps a transaction whose parents are missing, and asks its sender for them.
void TransactionFeed::keep_orphan(const Waiting& one) {
    const MempoolTransaction& orphan = *one.transaction;
    std::set<Txid> missing;
    for (const Outpoint& outpoint : orphan.spends()) {
        // Parents that are refused make a transaction that cannot be taken, for as long as they are.
        if (rejected_.contains(inventory_hash(outpoint.txid)))
            return rejected_.insert(inventory_hash(orphan.wtxid()));
        if (!mempool_.board().find(outpoint.txid)) missing.insert(outpoint.txid);
    }
    if (!peers_.contains(one.peer) || !orphans_.add(one.transaction, one.peer)) return;
    for (const Txid& parent : missing) {
        const Hash hash = inventory_hash(parent);
        // Most of them are in a block long since, and the output that is missing is spent: nobody has those.
        if (!is_known(hash))
            requests_.announce(one.peer, {InventoryItem::transaction | InventoryItem::witness_flag, hash});
    }
}

void TransactionFeed::tip_changed() {
    rejected_.clear();
    to_review_ = outgoing_.all();
    review_outgoing();
    for (const OrphanPool::Orphan& orphan : orphans_.take_all()) enqueue(orphan.transaction, orphan.peer);
    hand_in();
}

/// A block may have what is on its way, or what that spends: no node gives it back then.
void TransactionFeed::review_outgoing() {
    if (reviewing_ || to_review_.empty()) return;
    const std::size_t count = std::min(kAtOnce, to_review_.size());
    std::vector<TransactionRef> batch(to_review_.end() - static_cast<std::ptrdiff_t>(count),
                                      to_review_.end());
    to_review_.resize(to_review_.size() - count);
    auto done = [this, post = post_, batch](MempoolService::Outcomes outcomes) {
        post([this, batch, outcomes = std::move(outcomes)] { reviewed(batch, outcomes); });
    };
    AcceptRules rules;
    rules.test = true;
    reviewing_ = mempool_.post(std::move(batch), std::move(done), rules).has_value();
}

void TransactionFeed::reviewed(const std::vector<TransactionRef>& batch,
                               const MempoolService::Outcomes& outcomes) {
    reviewing_ = false;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        if (!outcomes[i] || !is_pointless(*batch[i], *outcomes[i])) continue;
        log_.debug("transaction {} is not handed out any more: {}", batch[i]->txid().display_hex(),
                   outcomes[i]->refusal.text());
        outgoing_.settle(batch[i]->txid());
    }
    review_outgoing();
}

bool TransactionFeed::is_pointless(const MempoolTransaction& transaction,
                                   const TransactionOutcome& outcome) const {
    using Kind = TransactionRefusal::Kind;
    if (outcome.accepted()) return false;
    const TransactionRefusal& refusal = outcome.refusal;
    if (refusal.kind == Kind::missing_inputs) {
        return std::ranges::none_of(transaction.spends(), [this](const Outpoint& spent) {
            return outgoing_.is_on_its_way(spent.txid);
        });
    }
    return refusal.kind == Kind::invalid || refusal.reason == kInChain || refusal.reason == kInMempool ||
           refusal.reason == kOtherWitness;
}

void TransactionFeed::fill(PeerNumber peer, Time now) {
    if (!peers_.contains(peer)) return;
    const auto items = requests_.ask(peer, now);
    if (!items.empty()) host_.send_inventory(peer, "getdata", items);
}

void TransactionFeed::fill_all(Time now) {
    for (const PeerNumber peer : peers_) fill(peer, now);
}

InventoryItem TransactionFeed::item_for(PeerNumber peer, const MempoolTransaction& transaction,
                                        bool request) const {
    if (host_.by_wtxid(peer))
        return {InventoryItem::witness_transaction, inventory_hash(transaction.wtxid())};
    const std::uint32_t flag = request ? std::uint32_t{InventoryItem::witness_flag} : 0;
    return {InventoryItem::transaction | flag, inventory_hash(transaction.txid())};
}

void TransactionFeed::announce_outgoing(PeerNumber peer) {
    std::vector<InventoryItem> items;
    for (const TransactionRef& transaction : outgoing_.tell(peer))
        items.push_back(item_for(peer, *transaction, false));
    if (!items.empty()) host_.send_inventory(peer, "inv", items);
}

void TransactionFeed::wanted(PeerNumber peer, const std::vector<InventoryItem>& items) {
    std::deque<TransactionRef>& wanted = wanted_[peer];
    // Nobody needs one twice, and 50,000 times would be too much for us.
    std::unordered_set<TransactionRef> known(wanted.begin(), wanted.end());
    std::vector<InventoryItem> missing;
    for (const InventoryItem& item : items) {
        TransactionRef transaction = item.is_block() ? nullptr : outgoing_.find(item.hash);
        if (transaction == nullptr) {
            missing.push_back(item);
        } else if (known.insert(transaction).second) {
            wanted.push_back(std::move(transaction));
        }
    }
    if (!missing.empty()) host_.send_inventory(peer, "notfound", missing);
    give(peer);
}

/// Sends on as fast as the peer takes it: all at once would count as not being read.
void TransactionFeed::give(PeerNumber peer) {
    const auto wanted = wanted_.find(peer);
    if (wanted == wanted_.end()) return;
    while (!wanted->second.empty() && host_.unsent(peer) < kMostUnsent) {
        const TransactionRef transaction = std::move(wanted->second.front());
        wanted->second.pop_front();
        host_.send_transaction(peer, transaction->raw());
        outgoing_.fetched(transaction->txid(), peer, SteadyClock::now());
    }
    if (wanted->second.empty()) wanted_.erase(wanted);
}

void TransactionFeed::ask_back(PeerNumber peer, Time now) {
    std::vector<InventoryItem> items;
    for (const TransactionRef& transaction : outgoing_.questions(peer, now))
        items.push_back(item_for(peer, *transaction, true));
    if (!items.empty()) host_.send_inventory(peer, "getdata", items);
}

void TransactionFeed::tick(Time now) {
    outgoing_.expire(now);
    for (const PeerNumber peer : peers_) ask_back(peer, now);
    fill_all(now);
}

}  // namespace blockpub
