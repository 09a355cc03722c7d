// SPDX-License-Identifier: MIT
#pragma once

#include "base/log.hpp"
#include "chain/mempool_service.hpp"
#include "source/p2p_network.hpp"
#include "source/p2p_orphans.hpp"
#include "source/p2p_outgoing.hpp"
#include "source/p2p_tx_requests.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/result.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace blockpub {

/// What the relay of transactions wants of the peers, by number; those that are gone are passed over.
class TransactionFeedHost {
 public:
    virtual ~TransactionFeedHost() = default;
    virtual void send_inventory(std::uint32_t peer, std::string_view message,
                                const std::vector<InventoryItem>& items) = 0;
    virtual void send_transaction(std::uint32_t peer, const SharedBytes& raw) = 0;
    /// Bytes that wait to be sent to it.
    [[nodiscard]] virtual std::size_t unsent(std::uint32_t peer) const = 0;
    virtual void drop_peer(std::uint32_t peer, const std::string& reason) = 0;
    /// Whether the peer speaks of transactions by wtxid.
    [[nodiscard]] virtual bool by_wtxid(std::uint32_t peer) const = 0;
};

/// Feeds the mempool with what peers announce: each transaction is fetched once, held to all rules but
/// scripts on the chain thread, and waits for its parents where they are missing.
///
/// Thread safety: the network's thread only, but for `outgoing`.
/// Ownership: borrows all that it is made with.
/// Blocking: never.
/// Errors: what a peer is to blame for; it is dropped then.
/// Source: Bitcoin Core v28.1 src/net_processing.cpp; what is asked of whom is simpler here.
class TransactionFeed {
 public:
    using Time = std::chrono::steady_clock::time_point;
    using PeerNumber = std::uint32_t;

    TransactionFeed(TransactionFeedHost& host, PeerNetwork::Poster post, MempoolService& mempool,
                    const Log& log, std::chrono::milliseconds patience);

    void peer_ready(PeerNumber peer);
    void peer_lost(PeerNumber peer);
    void announced(PeerNumber peer, const std::vector<InventoryItem>& items);
    [[nodiscard]] Result<void> received(PeerNumber peer, const SharedBytes& raw);
    void lacking(PeerNumber peer, const std::vector<InventoryItem>& items);
    /// The peer asks for transactions. Only those on their way are given, no faster than it takes them.
    void wanted(PeerNumber peer, const std::vector<InventoryItem>& items);
    /// All that the peer was to be sent is on its way.
    void drained(PeerNumber peer) { give(peer); }
    /// What was refused may be taken on top of another tip, and what waited may have its parents.
    void tip_changed();
    void tick(Time now);
    /// Whether nodes are followed at all, connected or not.
    void set_following(bool following) { outgoing_.set_following(following); }
    /// Whether so much waits for the chain thread that no more is to be read.
    [[nodiscard]] bool full() const { return waiting_bytes_ >= kMostWaiting; }
    [[nodiscard]] TransactionSender& outgoing() { return outgoing_; }

 private:
    static constexpr std::size_t kMostWaiting = 8'000'000;
    static constexpr std::size_t kMostUnsent = 1'000'000;  // bytes; one transaction may come on top
    using Hash = Hash256<InventoryTag>;
    struct Waiting {
        TransactionRef transaction;
        PeerNumber peer = 0;
    };
    /// Hashes that were seen lately, twice `kept` at most.
    class Recent {
     public:
        explicit Recent(std::size_t kept) : kept_(kept) {}
        void insert(const Hash& hash);
        [[nodiscard]] bool contains(const Hash& hash) const;
        void clear();

     private:
        const std::size_t kept_;
        std::unordered_set<Hash> young_;
        std::unordered_set<Hash> old_;
    };

    void enqueue(const TransactionRef& transaction, PeerNumber peer);
    void hand_in();
    void handed_in(const std::vector<Waiting>& batch, const MempoolService::Outcomes& outcomes);
    void taken(const Waiting& one);
    void refused(const Waiting& one, const TransactionRefusal& refusal);
    void keep_orphan(const Waiting& one);
    void fill(PeerNumber peer, Time now);
    void fill_all(Time now);
    void give(PeerNumber peer);
    void announce_outgoing(PeerNumber peer);
    void review_outgoing();
    [[nodiscard]] bool is_pointless(const MempoolTransaction& transaction,
                                    const TransactionOutcome& outcome) const;
    void reviewed(const std::vector<TransactionRef>& batch, const MempoolService::Outcomes& outcomes);
    void ask_back(PeerNumber peer, Time now);
    [[nodiscard]] bool is_known(const Hash& hash) const;
    [[nodiscard]] InventoryItem item_for(PeerNumber peer, const MempoolTransaction& transaction,
                                         bool request) const;

    TransactionFeedHost& host_;
    const PeerNetwork::Poster post_;
    MempoolService& mempool_;
    const Log log_;
    TransactionRequests requests_;
    OrphanPool orphans_;
    OutgoingTransactions outgoing_;
    Recent rejected_;  // by wtxid, on this tip; what the chain has, by txid too
    std::unordered_set<PeerNumber> peers_;
    /// What each has asked for and not got yet, every one once: of outgoing ones, that is, which are bounded.
    std::unordered_map<PeerNumber, std::deque<TransactionRef>> wanted_;
    std::deque<Waiting> waiting_;
    std::unordered_set<Wtxid> under_way_;  // waiting, or with the chain thread
    std::size_t waiting_bytes_ = 0;
    bool handing_in_ = false;
    std::vector<TransactionRef> to_review_;  // outgoing ones, after a block
    bool reviewing_ = false;
};

}  // namespace blockpub
