// SPDX-License-Identifier: MIT
#pragma once

#include "chain/mempool_transaction.hpp"
#include "primitives/coin.hpp"
#include "primitives/script.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/hash.hpp>
#include <blockpub/publisher.hpp>
#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

// What the query side needs of its siblings: declared here, implemented there, joined in the daemon.

namespace blockpub {

/// One row of getzmqnotifications.
struct NotificationRow {
    std::string type;                   ///< pubhashblock, pubhashtx, pubrawblock, pubrawtx, pubsequence
    std::string address;                ///< as configured, `unix:` spelt `ipc://`
    int high_water_mark = 0;            ///< this row's own option
    int effective_high_water_mark = 0;  ///< the endpoint's
};

/// Thread safety: from any thread. Blocking: never.
class NotificationList {
 public:
    virtual ~NotificationList() = default;
    /// In Core's order: by type (hashblock, hashtx, rawblock, rawtx, sequence), then as configured.
    [[nodiscard]] virtual std::vector<NotificationRow> rows() const = 0;
};

/// What every publisher has done, in the order in which they were bound.
/// Thread safety: from any thread. Blocking: never.
class PublisherStatusList {
 public:
    virtual ~PublisherStatusList() = default;
    [[nodiscard]] virtual std::vector<PublisherStatus> statuses() const = 0;
};

/// What a mempool makes of a coin.
struct MempoolCoin {
    bool spent = false;        ///< by a transaction in the pool
    std::optional<Coin> made;  ///< by one; its height means nothing
};

/// Coins as they are behind the transactions of a mempool.
/// Thread safety: from any thread. Blocking: never for longer than a look-up takes.
class MempoolCoinView {
 public:
    virtual ~MempoolCoinView() = default;
    [[nodiscard]] virtual MempoolCoin look_up(const Outpoint& outpoint) const = 0;
};

/// Which block has a transaction (-txindex).
/// Thread safety: from any thread. Blocking: reads the disk.
class TransactionIndex {
 public:
    struct Status {
        Tip best;             ///< everything up to here is known
        bool synced = false;  ///< has caught up with the tip once
    };
    virtual ~TransactionIndex() = default;
    /// The block that had it last; it may have left the active chain since. Nothing where the index does not
    /// know. Errors: corrupt, io.
    [[nodiscard]] virtual Result<std::optional<BlockHash>> find(const Txid& txid) const = 0;
    [[nodiscard]] virtual Status status() const = 0;
};

/// One row of getpeerinfo.
/// Units: times in seconds since 1970, 0 for never.
struct PeerRow {
    using Counts = std::map<std::string, std::uint64_t, std::less<>>;
    std::uint32_t number = 0;
    std::string address;        ///< as it was called
    std::string local_address;  ///< of our side
    bool v6 = false;
    bool routable = true;  ///< its address can be called from all over the world
    std::uint64_t services = 0;
    std::uint32_t protocol = 0;
    std::string user_agent;  ///< the peer's own words
    std::int32_t start_height = 0;
    std::int64_t time_offset = 0;
    std::int64_t connected_at = 0;
    std::int64_t last_sent = 0;
    std::int64_t last_received = 0;
    std::int64_t last_block = 0;
    std::int64_t last_transaction = 0;
    bool compact_to = false;    ///< it was asked for compact blocks at once
    bool compact_from = false;  ///< it asked for them
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    Counts sent_by_message;  ///< bytes
    Counts received_by_message;
    std::optional<std::chrono::microseconds> ping;
    std::optional<std::chrono::microseconds> least_ping;
    std::optional<std::chrono::microseconds> ping_under_way;
    std::int64_t fee_filter = 0;           ///< satoshi for 1000 virtual bytes
    std::int64_t presynced_headers = -1;   ///< height
    std::int64_t synced_headers = -1;      ///< height of the last header in common
    std::int64_t synced_blocks = -1;       ///< height of the last block in common
    std::vector<std::uint32_t> in_flight;  ///< heights
    bool inbound = false;                  ///< it came; all others were called
    bool relays_transactions = false;      ///< it is told of transactions
    bool wants_headers = false;            ///< new blocks are announced to it by their headers
    std::vector<std::string> permissions;  ///< by name
};

/// The nodes that are followed, and those that are served.
/// Thread safety: from any thread. Blocking: never.
class PeerList {
 public:
    struct Totals {
        std::uint64_t bytes_sent = 0;  ///< since the start
        std::uint64_t bytes_received = 0;
    };
    /// How far the chain here is behind those of the nodes that are followed.
    struct Lag {
        std::size_t nodes = 0;  ///< that are to be connected
        std::size_t connected = 0;
        std::uint64_t best_height = 0;  ///< of the longest of their chains, as far as its headers are here
        std::uint64_t blocks = 0;
        std::chrono::seconds behind_for{0};
        std::chrono::seconds alone_for{0};  ///< how long none of them has been connected
    };
    /// Since the start.
    struct Counters {
        std::uint64_t blocks_in_flight = 0;  ///< asked for; now
        std::uint64_t bytes_waiting = 0;     ///< of blocks that wait for the chain thread; now
        std::uint64_t blocks_received = 0;
        std::uint64_t sessions = 0;  ///< that came to a handshake
        std::uint64_t lost = 0;      ///< connections that could not be made, or ended
        std::uint64_t silent = 0;    ///< ended because the node did not answer in time
        std::uint64_t faulty = 0;    ///< ended because the node sent what no honest one sends
    };
    /// -maxuploadtarget. Units: bytes, seconds.
    struct Upload {
        std::uint64_t target = 0;  ///< 0: no limit
        bool reached = false;
        bool serves_history = true;
        std::uint64_t bytes_left = 0;
        std::int64_t time_left = 0;
    };
    struct Listening {
        std::string address;
        std::uint16_t port = 0;
    };
    virtual ~PeerList() = default;
    /// Those that have shaken hands, as of a second ago at most.
    [[nodiscard]] virtual std::vector<PeerRow> rows() const = 0;
    [[nodiscard]] virtual Totals totals() const = 0;
    [[nodiscard]] virtual Lag lag() const { return {}; }
    [[nodiscard]] virtual Counters counters() const { return {}; }
    [[nodiscard]] virtual Upload upload() const { return {}; }
    /// Where peers can connect to.
    [[nodiscard]] virtual std::vector<Listening> listening() const { return {}; }
};

/// Hands transactions to the nodes that are followed: what they make of one, scripts and all, is what counts
/// here, and it enters the mempool when one of them has it.
/// Thread safety: from any thread. Blocking: never.
class TransactionSender {
 public:
    virtual ~TransactionSender() = default;
    /// Whether any node is followed, connected or not.
    [[nodiscard]] virtual bool is_following() const = 0;
    /// Errors: unavailable, when no node takes transactions just now, or too many are on their way.
    [[nodiscard]] virtual Result<void> hand_out(const TransactionRef& transaction) = 0;
    /// Whether it is on its way: no node is known to have taken it.
    [[nodiscard]] virtual bool is_on_its_way(const Txid& txid) const = 0;
};

struct MineRequest {
    Script coinbase_script;
    std::vector<SharedBytes> transactions;  ///< serialized, in the order of the block
    Amount fees = 0;                        ///< of the transactions, as far as the coinbase takes them
    std::uint64_t max_tries = 1'000'000;    ///< nonces that may miss
    bool submit = true;
};

struct MinedBlock {
    BlockHash hash;
    SharedBytes raw;
    std::uint64_t missed_tries = 0;  ///< nonces that missed before the one that did not
};

/// Makes blocks on regtest.
/// Thread safety: from any thread. Blocking: until the block is durable, or max_tries are used up.
/// Errors: invalid_argument (the block would be invalid; the context is Core's text), corrupt (it was made
/// and not taken, likewise), unavailable (no nonce found), stopped.
class BlockMiner {
 public:
    virtual ~BlockMiner() = default;
    [[nodiscard]] virtual Result<MinedBlock> mine(const MineRequest& request) = 0;
};

}  // namespace blockpub
