// SPDX-License-Identifier: MIT
#pragma once

#include "base/ban_list.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "chain/chain.hpp"
#include "chain/mempool_board.hpp"
#include "chain/services.hpp"
#include "primitives/chain_params.hpp"
#include "source/p2p_inbound.hpp"
#include "source/p2p_listener.hpp"
#include "source/p2p_permissions.hpp"
#include "source/p2p_upload.hpp"

#include <blockpub/block_reader.hpp>
#include <blockpub/bus.hpp>
#include <blockpub/store.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace blockpub {

struct PeerServerOptions {
    std::size_t max_peers = 125;  ///< for a further one another has to go, or it is refused
    std::vector<WhitelistedPeers> whitelist;
    std::uint64_t upload_target = 0;  ///< bytes in a day; 0: no limit
    std::chrono::milliseconds peer_timeout{60'000};
    std::string user_agent;
    std::uint64_t nonce = 0;        ///< tells us from others
    bool active = true;             ///< else nobody is let in
    bool prunes = false;            ///< blocks are given up, or may be
    const BanList* bans = nullptr;  ///< borrowed; null: nobody is banned
};

/// What a server is made of. Ownership: borrows all of it.
struct PeerServerParts {
    Store& store;
    BlockReader& blocks;
    Chain& chain;
    const MempoolBoard& mempool;
    Bus& bus;
    const ChainParams& params;
    const Clock& clock;
    Logger& logger;
};

/// Serves headers, blocks and transactions to the peers that come, on a thread of its own.
///
/// Nothing is taken from them but questions. What is read is read from snapshots and from the blocks' maps,
/// so that neither a peer nor the server waits for the chain thread, nor that for them.
///
/// Thread safety: every method from any thread; start and stop from one.
/// Ownership: owns the listener, borrows the parts. Blocking: stop waits for the handler that runs.
/// Errors: of peers are logged, a few a minute, and end the peer's connection.
class P2pServer final : public PeerList, private InboundHost {
 public:
    /// Peers that came are numbered from here on, others below.
    static constexpr std::uint32_t kFirstNumber = 1'000'000;

    P2pServer(PeerServerOptions options, std::unique_ptr<PeerListener> listener, PeerServerParts parts);
    ~P2pServer() override;
    P2pServer(const P2pServer&) = delete;
    P2pServer& operator=(const P2pServer&) = delete;

    void start();
    void stop();

    // What operators tell it; done soon.
    /// Hangs up on a peer that came.
    void disconnect(std::uint32_t number);
    /// Hangs up on those whose address is banned by now.
    void disconnect_banned();
    void ping_all();
    /// Without network activity nobody is let in, and who is here has to go.
    void set_active(bool active);

    [[nodiscard]] std::vector<PeerRow> rows() const override BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] Totals totals() const override BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] Upload upload() const override BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] std::vector<Listening> listening() const override;

 private:
    using Time = std::chrono::steady_clock::time_point;

    PeerVersion own_version() override;
    ServedChain& chain() override { return chain_; }
    const TransactionRelay& transactions() const override { return relay_; }
    bool may_send_block(std::int64_t time) const override;
    std::int64_t now_seconds() const override { return parts_.clock.now_seconds(); }
    void note_sent(std::size_t bytes) override { upload_.add(bytes, now_seconds()); }
    void peer_ready(InboundPeer& peer) override;
    void go_on(InboundPeer& peer) override;
    void peer_ended(InboundPeer& peer, const std::string& reason, bool fault) override;

    [[nodiscard]] bool is_banned(const InboundConnection& connection, std::uint32_t permissions) const;
    /// Result: false where the newcomer cannot have a place.
    [[nodiscard]] bool make_room(const InboundConnection& newcomer, std::uint32_t permissions);
    void accepted(std::unique_ptr<InboundConnection> connection);
    void tick();
    void wake();
    void take_events();
    void announce_transactions();
    /// Of all peers at once, each second; between those only who came and went.
    void show(Time now) BLOCKPUB_EXCLUDES(mutex_);
    void note(const std::string& line);

    // Constant after construction.
    const PeerServerOptions options_;
    const PeerServerParts parts_;
    const Log log_;
    const std::unique_ptr<PeerListener> listener_;
    const PeerListener::Poster post_;
    std::atomic<bool> active_;
    std::atomic<bool> woken_{false};  // take_events() will be called

    // Only on the listener's thread.
    ServedChain chain_;
    TransactionRelay relay_;
    UploadTarget upload_;
    std::unique_ptr<EventCursor> cursor_;
    std::map<std::uint32_t, std::unique_ptr<InboundPeer>> peers_;
    std::uint32_t next_number_ = kFirstNumber;
    Totals past_;  // of peers that are gone
    Time last_second_{};
    Time lines_since_{};
    int lines_ = 0;

    mutable Mutex mutex_;
    std::map<std::uint32_t, PeerRow> shown_rows_ BLOCKPUB_GUARDED_BY(mutex_);
    Totals shown_totals_ BLOCKPUB_GUARDED_BY(mutex_);
    Upload shown_upload_ BLOCKPUB_GUARDED_BY(mutex_);
};

}  // namespace blockpub
