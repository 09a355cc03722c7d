// SPDX-License-Identifier: MIT
#pragma once

#include "base/ban_list.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "chain/chain.hpp"
#include "chain/services.hpp"
#include "primitives/chain_params.hpp"
#include "source/p2p_board.hpp"
#include "source/p2p_downloads.hpp"
#include "source/p2p_network.hpp"
#include "source/p2p_peer.hpp"
#include "source/p2p_progress.hpp"
#include "source/p2p_rebuild.hpp"
#include "source/p2p_transactions.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace blockpub {

struct FollowerOptions {
    std::vector<PeerAddress> peers;
    bool active = true;             ///< whether peers are called
    const BanList* bans = nullptr;  ///< whom not to call; null: nobody
    std::chrono::milliseconds connect_timeout{5000};
    std::chrono::milliseconds peer_timeout{60'000};
    std::string user_agent;
    std::uint64_t nonce = 0;  ///< tells us from others
    std::chrono::milliseconds progress_every{5000};
    BlockDownloads::Limits limits;
    MempoolService* mempool = nullptr;  ///< gets the peers' transactions; null: none are taken
    std::chrono::milliseconds transaction_patience{60'000};  ///< of one that was asked for
};

/// Brings the blocks of peers into the chain: headers first, then blocks from all that have them, to the tip
/// and on.
///
/// A peer's blocks are taken along its own chain, so that one that shows headers and keeps the blocks holds
/// up nobody but itself. What is received goes to the chain thread at once, in any order. Thread safety: the
/// network's thread only, but for what the board shows. Ownership: borrows all that it is made with.
/// Blocking: never. Errors: a peer's are logged by the peer; those of the chain end the following, with one
/// line.
class Follower final : private PeerHost, private TransactionFeedHost {
 public:
    using Time = std::chrono::steady_clock::time_point;

    Follower(FollowerOptions options, PeerNetwork& network, Chain& chain, const ChainParams& params,
             const Clock& clock, Logger& logger, ProgressSink* sink, PeerBoard& board);

    /// What is due by now. To be called about once a second.
    void tick();
    /// Ends all sessions.
    void close();
    /// Null where no transactions are relayed. From any thread.
    [[nodiscard]] TransactionSender* transactions() { return relay_ ? &relay_->outgoing() : nullptr; }

    // What operators ask for.

    [[nodiscard]] const std::vector<std::unique_ptr<Peer>>& peers() const& { return peers_; }
    /// `lasting`: it is called until it is removed; otherwise once. The peer lasts until the next tick at
    /// least.
    Peer& add_peer(PeerAddress address, bool lasting);
    /// Requires: it is not connected.
    void remove_peer(const Peer& peer);
    bool allows(const IpAddress& address) const override;
    /// Without activity nobody is called, and all sessions end.
    void set_active(bool active);
    /// Result: false when the peer is asked for the block already. Requires: peer.ready().
    [[nodiscard]] bool request_block(Peer& peer, const HeaderDesk::Missing& block);

 private:
    /// What the chain thread says of all peers' chains at once.
    struct Plan {
        struct Entry {
            std::uint32_t peer = 0;
            std::uint64_t session = 0;
            BlockHash best;
            std::vector<HeaderDesk::Missing> missing;
            bool failed = false;
        };
        std::vector<Entry> entries;
    };

    std::unique_ptr<PeerConnection> dial(const PeerAddress& address,
                                         PeerConnection::Handlers handlers) override;
    PeerSessionOptions session_options() override;
    void ask_chain(const Peer& peer, HeaderSyncHost::Question question) override;
    std::int64_t now_seconds() const override { return clock_.now_seconds(); }
    bool reading_paused() const override { return downloads_.full() || (relay_ && relay_->full()); }
    void peer_ready(Peer& peer) override;
    void peer_lost(Peer& peer) override;
    void connection_ended(PeerBlame blame) override;
    void peer_chain_changed(Peer& peer, const HeaderAnswer& answer) override;
    Result<void> peer_block(Peer& peer, const SharedBytes& raw) override;
    void peer_lacks_blocks(Peer& peer, const std::vector<BlockHash>& hashes) override;
    void peer_compact_block(Peer& peer, CompactBlock block) override;
    Result<void> peer_block_transactions(Peer& peer, const BlockTransactions& message) override;
    bool wants_transactions() const override { return relay_ != nullptr; }
    void peer_announced(Peer& peer, const std::vector<InventoryItem>& transactions) override;
    Result<void> peer_transaction(Peer& peer, const SharedBytes& raw) override;
    void peer_lacks_transactions(Peer& peer, const std::vector<InventoryItem>& items) override;
    void peer_wants(Peer& peer, const std::vector<InventoryItem>& items) override;
    void peer_drained(Peer& peer) override;
    void send_inventory(std::uint32_t peer, std::string_view message,
                        const std::vector<InventoryItem>& items) override;
    void send_transaction(std::uint32_t peer, const SharedBytes& raw) override;
    std::size_t unsent(std::uint32_t peer) const override;
    void drop_peer(std::uint32_t peer, const std::string& reason) override;
    bool by_wtxid(std::uint32_t peer) const override;

    void chain_ended(const Error& error);
    /// What is delivered, and how it came.
    struct Delivery {
        std::uint32_t peer = 0;
        std::uint64_t session = 0;
        BlockHash block;
        bool rebuilt = false;  ///< from a compact block
    };
    void block_settled(const Delivery& delivery, const DeliveredBlock& outcome);
    void deliver(const Peer& peer, ParsedBlock block, bool rebuilt);
    void note_lack(const Peer& peer, const BlockHash& hash);
    void rebuild(Peer& peer, const HeaderDesk::Missing& block);
    void go_on_rebuilding(Peer& peer, const BlockHash& hash, CompactBlocks::Step step);
    void ask_for_compact_blocks();
    void plan();
    void planned(Plan plan);
    void offer(Peer& peer, std::vector<HeaderDesk::Missing> missing);
    void fill(Peer& peer);
    void fill_all();
    void drop_slow(Peer& peer, Time now);
    void show_board(Time now);
    void tick_relay(const ChainStatus& status, Time now);
    void update_pauses();
    [[nodiscard]] Peer* find(std::uint32_t number, std::uint64_t session) const;
    [[nodiscard]] Peer* find(std::uint32_t number) const;
    [[nodiscard]] std::uint64_t best_height_of_peers() const;
    [[nodiscard]] std::size_t ready_peers() const;

    const FollowerOptions options_;
    PeerNetwork& network_;
    const PeerNetwork::Poster post_;
    Chain& chain_;
    const ChainParams& params_;
    const Clock& clock_;
    const Log log_;
    PeerBoard& board_;
    FollowProgress progress_;

    BlockDownloads downloads_;
    std::vector<std::unique_ptr<Peer>> peers_;
    std::uint32_t next_number_ = 0;
    bool active_;
    PeerList::Counters counters_;
    std::unique_ptr<TransactionFeed> relay_;  // null: none
    std::optional<CompactBlocks> compact_;    // likewise
    BlockHash relay_tip_;
    bool catching_up_ = true;  // initial download: transactions mean nothing yet
    bool planning_ = false;
    bool plan_again_ = false;
    bool ended_ = false;
    std::map<std::uint32_t, std::uint64_t> told_of_age_;   // sessions of peers that lack old blocks
    std::map<std::uint32_t, std::uint64_t> told_of_lack_;  // and of those that lacked one they had shown
    Time reading_since_{};                                 // since when reading was not paused for all
};

}  // namespace blockpub
