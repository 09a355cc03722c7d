// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/coin.hpp"
#include "primitives/script.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/hash.hpp>
#include <blockpub/publisher.hpp>
#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <cstdint>
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
