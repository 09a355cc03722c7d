// SPDX-License-Identifier: MIT
#pragma once

#include "base/log.hpp"
#include "chain/services.hpp"
#include "source/p2p_compact.hpp"
#include "source/p2p_header_sync.hpp"
#include "source/p2p_network.hpp"
#include "source/p2p_session.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/result.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace blockpub {

/// Why a connection to a peer has ended.
enum class PeerBlame : std::uint8_t {
    network,  ///< the connection ended: it is called again soon
    silence,  ///< it did not answer in time: after ever longer pauses
    peer,     ///< it sent what no honest node sends: it is called again after a longer while
    nobody,   ///< an operator wants it so: it is called again after a while
};

class Peer;

/// What the peers share, and whom they tell. Calls come from the network's thread, not from within a call of
/// the peer that could end its session.
class PeerHost {
 public:
    virtual ~PeerHost() = default;
    [[nodiscard]] virtual std::unique_ptr<PeerConnection> dial(const PeerAddress& address,
                                                               PeerConnection::Handlers handlers) = 0;
    /// Whether connections may be made to an address.
    [[nodiscard]] virtual bool allows(const IpAddress& address) const = 0;
    /// What is told of ourselves to the next peer.
    [[nodiscard]] virtual PeerSessionOptions session_options() = 0;
    /// The answer goes to Peer::chain_answered, unless the session has ended by then.
    virtual void ask_chain(const Peer& peer, HeaderSyncHost::Question question) = 0;
    [[nodiscard]] virtual std::int64_t now_seconds() const = 0;
    /// Whether no peer is to be read from just now.
    [[nodiscard]] virtual bool reading_paused() const = 0;

    virtual void peer_ready(Peer& peer) = 0;
    virtual void peer_lost(Peer& peer) = 0;
    /// Any connection, whether it came to a session or not.
    virtual void connection_ended(PeerBlame blame) = 0;
    virtual void peer_chain_changed(Peer& peer, const HeaderAnswer& answer) = 0;
    /// An Error ends the session: the peer is to blame.
    [[nodiscard]] virtual Result<void> peer_block(Peer& peer, const SharedBytes& raw) = 0;
    virtual void peer_lacks_blocks(Peer& peer, const std::vector<BlockHash>& hashes) = 0;

    /// A block's header comes behind it, by peer_chain_changed, if it is good.
    virtual void peer_compact_block(Peer& peer, CompactBlock block) = 0;
    [[nodiscard]] virtual Result<void> peer_block_transactions(Peer& peer,
                                                               const BlockTransactions& message) = 0;

    // Transactions. The peers are told whether they are wanted.
    [[nodiscard]] virtual bool wants_transactions() const = 0;
    virtual void peer_announced(Peer& peer, const std::vector<InventoryItem>& transactions) = 0;
    [[nodiscard]] virtual Result<void> peer_transaction(Peer& peer, const SharedBytes& raw) = 0;
    virtual void peer_lacks_transactions(Peer& peer, const std::vector<InventoryItem>& items) = 0;
    virtual void peer_wants(Peer& peer, const std::vector<InventoryItem>& items) = 0;
    /// All that the peer was to be sent is on its way.
    virtual void peer_drained(Peer& peer) = 0;
};

/// One node that is followed: calls it, talks to it, and calls again after a while whatever happens, unless
/// it is to be called only once.
///
/// Thread safety: the network's thread only. Ownership: borrows the host and what it is made with.
/// Blocking: never. Errors: are logged, with what comes next.
class Peer final : private PeerSessionHost, private HeaderSyncHost {
 public:
    using Time = std::chrono::steady_clock::time_point;
    using Blame = PeerBlame;

    Peer(std::uint32_t number, PeerAddress address, const ChainParams& params,
         std::chrono::milliseconds timeout, PeerHost& host, const Log& log);

    /// What is due by now: a call, a ping, the end of a session that waits for too long.
    void tick(Time now);
    void drop(const std::string& reason, Blame blame);
    /// Whether it is called again when it is not connected.
    void set_lasting(bool lasting) { lasting_ = lasting; }
    /// It has been called and is not connected, and is never called again.
    [[nodiscard]] bool over() const { return !lasting_ && !connection_ && session_number_ != 0; }
    [[nodiscard]] bool calling() const { return connection_ != nullptr; }
    /// Where it is not connected it is called at the next tick.
    void call_soon() { next_call_ = {}; }
    /// Requires: ready().
    void ping(Time now) { session_->ping(now); }
    /// Ends it for good, without a word in the log.
    void close();
    /// Requires: ready().
    void request_blocks(const std::vector<BlockHash>& hashes);
    /// inv, getdata or notfound. Requires: ready().
    void send_inventory(std::string_view message, const std::vector<InventoryItem>& items);
    /// Requires: ready().
    void send_transaction(const SharedBytes& raw) { session_->send("tx", raw.bytes()); }
    /// Bytes that wait to be sent. Requires: ready().
    [[nodiscard]] std::size_t unsent() const { return connection_->unsent(); }
    /// Says below which fee rate no transaction is wanted, in satoshi for 1000 virtual bytes, when that has
    /// changed. Requires: ready().
    void send_fee_filter(std::int64_t rate, Time now);
    /// Asks it to announce blocks by compact blocks, at once. Result: false where it cannot. Requires:
    /// ready().
    [[nodiscard]] bool ask_compact_blocks();
    [[nodiscard]] bool sends_compact_blocks() const { return compact_asked_; }
    /// Requires: ready().
    void request_block_transactions(const BlockTransactionsRequest& request);
    /// Asks for all of the peer's mempool, once, if it says that this is allowed. Requires: ready().
    void ask_mempool();
    /// `session`: as it was when the chain was asked; what is older is passed over.
    void chain_answered(std::uint64_t session, HeaderAnswer answer);
    /// What it has shown last is not its chain. Requires: ready().
    void ask_headers_anew(Time now);
    /// Reads on, or not: see PeerHost::reading_paused().
    void update_pause();

    [[nodiscard]] std::uint32_t number() const { return number_; }
    /// Counts the sessions: what is asked in one must not be answered into the next.
    [[nodiscard]] std::uint64_t session_number() const { return session_number_; }
    [[nodiscard]] bool ready() const { return session_ && session_->ready(); }
    [[nodiscard]] const PeerAddress& address() const& { return address_; }
    [[nodiscard]] bool relays() const { return ready() && session_->relays(); }
    [[nodiscard]] bool by_wtxid() const { return session_ && session_->by_wtxid(); }
    [[nodiscard]] const std::string& name() const& { return name_; }
    /// The other end of the connection; empty before there is one.
    [[nodiscard]] const std::string& remote() const& { return remote_; }
    /// Its address. Nothing where there is none.
    [[nodiscard]] const std::optional<IpAddress>& remote_address() const& { return remote_address_; }
    /// The peer's last header that is in the tree; null before there is one.
    [[nodiscard]] const HeaderDesk::Point* best() const;
    /// Whether it has shown that one only by a block passed on before checking it.
    [[nodiscard]] bool best_unchecked() const;
    [[nodiscard]] std::optional<Height> presync_height() const;
    /// Whether a message of the peer has begun and not ended. Requires: ready().
    [[nodiscard]] bool receiving() const { return session_->receiving(); }
    /// When the peer was last heard, or its time began anew. Requires: ready().
    [[nodiscard]] Time last_heard() const { return session_->last_received(); }
    [[nodiscard]] bool paused() const { return connection_ && connection_->paused(); }
    /// Whether it says that it has all blocks, and not the newest only. Requires: ready().
    [[nodiscard]] bool keeps_all_blocks() const;
    void note_block();
    /// Bytes of all sessions.
    [[nodiscard]] PeerList::Totals totals() const;
    /// For getpeerinfo. Requires: ready().
    [[nodiscard]] PeerRow row(Time now) const;

 private:
    void send_bytes(std::vector<std::uint8_t> bytes) override;
    void session_ready() override;
    [[nodiscard]] Result<void> session_message(const PeerMessage& message) override;
    void send_get_headers(const GetHeaders& message) override;
    void ask_chain(Question question) override;
    void peer_chain_changed(const HeaderAnswer& answer) override;
    [[nodiscard]] std::int64_t now_seconds() const override { return host_.now_seconds(); }

    /// What is called again soon is worth it, and why it ended is told again.
    void note_news();
    void call();
    void connected(const SocketAddress& local, const SocketAddress& remote);
    void received(ByteSpan bytes);
    void closed(const std::string& reason, bool faulty);
    void end(const std::string& reason, Blame blame);
    void settle(const Result<void>& result);
    [[nodiscard]] Result<void> take_inventory(ByteSpan payload);
    [[nodiscard]] Result<void> take_not_found(ByteSpan payload);
    [[nodiscard]] Result<void> take_compact_block(const SharedBytes& payload);
    [[nodiscard]] Result<void> take_compact_wish(ByteSpan payload);
    [[nodiscard]] Result<void> take_transaction(const SharedBytes& raw);
    [[nodiscard]] Result<void> take_request(ByteSpan payload);
    void log_end(const std::string& reason, std::chrono::milliseconds pause);

    const std::uint32_t number_;
    const PeerAddress address_;
    const std::string name_;
    const ChainParams& params_;
    const std::chrono::milliseconds timeout_;
    PeerHost& host_;
    const Log log_;

    std::unique_ptr<PeerConnection> connection_;
    std::optional<PeerSession> session_;
    std::optional<HeaderSync> headers_;
    std::uint64_t session_number_ = 0;
    bool closed_ = false;
    bool lasting_ = true;
    Time next_call_{};
    bool news_ = false;      // the session has brought headers or a block
    unsigned failures_ = 0;  // since a session brought any
    unsigned faults_ = 0;    // of the peer itself
    Time ready_since_{};
    PeerList::Totals past_;  // of sessions that have ended
    std::string last_reason_;
    Time last_reason_logged_{};
    // Of the session, for people.
    std::string local_;
    std::string remote_;
    std::optional<IpAddress> remote_address_;
    std::int64_t connected_at_ = 0;
    std::int64_t last_sent_ = 0;
    std::int64_t last_received_ = 0;
    std::int64_t last_block_ = 0;
    std::int64_t last_transaction_ = 0;
    std::optional<std::int64_t> fee_filter_;  // that the peer was told
    Time fee_filter_told_{};
    bool mempool_asked_ = false;
    bool compact_known_ = false;  // it said that it speaks version 2
    bool compact_asked_ = false;
    bool compact_wanted_ = false;  // by the peer, of us
};

}  // namespace blockpub
