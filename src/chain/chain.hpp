// SPDX-License-Identifier: MIT
#pragma once

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "primitives/block.hpp"
#include "primitives/chain_params.hpp"
#include "store/block_cache.hpp"

#include <blockpub/bus.hpp>
#include <blockpub/logger.hpp>
#include <blockpub/store.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace blockpub {

class CoinsEngine;
class HeaderDesk;
class MempoolFollower;
struct HeaderNode;

/// What `-prune` asks for.
struct PruneOptions {
    enum class Mode : std::uint8_t {
        off,
        manual,     ///< by pruneblockchain only
        automatic,  ///< and whenever the stored blocks take more than `target_bytes`
    };
    Mode mode = Mode::off;
    std::uint64_t target_bytes = 0;
    std::uint64_t reserve_bytes = std::uint64_t{17} << 20;  ///< of the target, for what comes next
    std::uint32_t after_height = 100'000;                   ///< nothing goes while the chain is shorter
    std::uint32_t keep_blocks = 288;                        ///< below the tip, these always stay
};

struct ChainOptions {
    const ChainParams* params = nullptr;
    Store* store = nullptr;
    Bus* bus = nullptr;
    BlockCache* cache = nullptr;  ///< gets every block that is connected; may be null
    const Clock* clock = nullptr;
    Logger* logger = nullptr;              ///< may be null
    CoinsEngine* coins = nullptr;          ///< null: no coins are kept, and no rule about them
    std::function<bool()> stop_requested;  ///< ends long work of a start; may be empty
    MempoolFollower* mempool = nullptr;    ///< null: none
    PruneOptions prune;
    bool start_at_tip = false;        ///< `-startat=tip`; goes with no coins only. See ChainStart
    std::uint32_t start_depth = 288;  ///< blocks below the tip, and those above them, that it begins with
    Uint256 minimum_chainwork;        ///< below it, initial download (`-minimumchainwork`)
    std::chrono::seconds max_tip_age{24 * 60 * 60};         ///< older, initial download (`-maxtipage`)
    std::size_t bulk_commit_bytes = std::size_t{16} << 20;  ///< a bulk commit carries so much
    std::size_t import_queue_bytes = std::size_t{32}
                                     << 20;  ///< waiting in front of the chain thread; then the source waits
    std::uint64_t waiting_limit = std::uint64_t{4} << 30;  ///< stored bytes of blocks whose parent is unknown
    std::chrono::milliseconds commit_retry_first{100};
    std::chrono::milliseconds commit_retry_longest{10'000};
    /// A call is answered with the reason once the disk has refused its reads or writes for so long.
    std::chrono::milliseconds call_patience{30'000};
};

/// What became of a block that was handed in.
struct BlockOutcome {
    enum class Kind : std::uint8_t {
        connected,               ///< accepted, and checked by connecting it
        duplicate,               ///< known and valid
        duplicate_invalid,       ///< known and invalid
        duplicate_inconclusive,  ///< known, never connected
        inconclusive,            ///< stored on a branch with less work (or as much)
        rejected,                ///< against a rule: see reason
    };
    Kind kind = Kind::connected;
    std::string reason;  ///< Core's reject reason when rejected, such as bad-txnmrklroot
    /// BIP 22 result of submitblock: empty for null.
    [[nodiscard]] std::string bip22() const;
};

/// What became of a block that a peer sent.
struct DeliveredBlock {
    enum class Kind : std::uint8_t {
        accepted,  ///< stored, and connected if it was its turn
        known,     ///< was here already
        stranded,  ///< its parent is unknown
        rejected,  ///< against a rule: see reason
    };
    Kind kind = Kind::accepted;
    bool mutated = false;  ///< rejected, but only these bytes: the block may be had from somebody else
    std::string reason;    ///< with Core's message behind a comma where there is one
};

/// What an import has come to so far; a copy of one moment.
struct ImportCounters {
    std::uint64_t accepted = 0;
    std::uint64_t known = 0;
    std::uint64_t waiting = 0;      ///< stored just now, parent unknown
    std::uint64_t turned_away = 0;  ///< parent unknown and no room to wait: offer it again
    std::uint64_t invalid = 0;
};

/// The chain as a whole, for readers that want no snapshot; a copy of one moment.
struct ChainStatus {
    Tip tip;
    std::int64_t tip_time = 0;  ///< the header's
    Tip best_header;            ///< most work among headers not known to be invalid
    bool initial_download = true;
    bool importing = false;
    EventIndex durable_events = 0;    ///< all records below are committed and synced
    std::optional<Height> pruned_to;  ///< highest block of the active chain that has been given up
    bool coins_missing = false;       ///< there are no coins of the tip, since the chain began at the tip
    /// The blocks that the chain began above are being fetched; nothing when they are not.
    struct Filling {
        Height blocks_below;  ///< all blocks below are here
        Height coins;         ///< the coins are those of this height
    };
    std::optional<Filling> filling;
    std::string unreachable;     ///< why a branch with more work is not followed; empty while there is none
    std::string write_error;     ///< why nothing can be written just now; empty when it can
    std::string read_error;      ///< why a stored block that is needed cannot be read just now; likewise
    bool write_stopped = false;  ///< sticky: see Errc::outcome_unknown
    std::string halted;          ///< sticky: why nothing is taken any more; empty while all is well
};

/// The one writer: a thread that checks, stores, connects, disconnects and commits, and then releases the
/// events.
///
/// Every entry point hands work to the chain thread, which holds the chain lock while it is at it. No read
/// path comes here: readers take a Store::snapshot().
///
/// Thread safety: every method from any thread.
/// Ownership: borrows all that ChainOptions points to, which must outlive it.
/// Blocking: as said for each; a full disk makes callers wait until there is room, an import for as long as
/// it takes, all others for ChainOptions::call_patience. Errors: stopped while shutting down; outcome_unknown
/// once writing has stopped for good; io when patience has run out: the context says whether the call has
/// changed something, which is then written and released later.
class Chain {
 public:
    /// Loads the header tree, connects genesis in a fresh store, takes up where a crash left off, starts the
    /// thread. Errors: stopped, when `stop_requested` said so.
    [[nodiscard]] static Result<std::unique_ptr<Chain>> start(ChainOptions options);
    virtual ~Chain() = default;

    /// submitblock: waits until the outcome is durable and its events are released.
    /// Errors: corrupt (does not decode: "Block decode failed", "Block does not start with a coinbase").
    [[nodiscard]] virtual Result<BlockOutcome> submit_block(SharedBytes raw) = 0;
    /// submitheader. Errors: invalid_argument with Core's text.
    [[nodiscard]] virtual Result<void> submit_header(ByteSpan header) = 0;
    /// As the RPCs of the same names. Errors: not_found ("Block not found").
    [[nodiscard]] virtual Result<void> invalidate_block(const BlockHash& hash) = 0;
    [[nodiscard]] virtual Result<void> reconsider_block(const BlockHash& hash) = 0;
    [[nodiscard]] virtual Result<void> precious_block(const BlockHash& hash) = 0;
    /// pruneblockchain: gives up the stored blocks up to a height, or (above a billion) a time, as far as
    /// whole segment files and ChainOptions::prune allow. Other calls go on between the files. Result: the
    /// highest block of the active chain that is not here then; nothing when all are. Errors:
    /// invalid_argument and unavailable with Core's texts; io and disk_full, when coins cannot be written
    /// that would need the blocks, or a file cannot be removed.
    [[nodiscard]] virtual Result<std::optional<Height>> prune_blocks(std::int64_t height_or_time) = 0;
    /// Runs every rule on a block that extends the tip, except proof of work, without storing it.
    /// Result: the reject reason, with Core's message behind a comma where there is one; empty when valid.
    [[nodiscard]] virtual Result<std::string> test_block(SharedBytes raw) = 0;

    /// Runs `work` on the chain thread, with the tip that transactions are to be held against; what it
    /// changes in the mempool is shown, and released behind all steps so far, when the call returns. `work`
    /// must own what it uses, but for what outlives the chain thread: it may run on after the call has given
    /// up.
    [[nodiscard]] virtual Result<void> on_mempool(
        std::function<Result<void>(const HeaderNode& tip)> work) = 0;

    /// As on_mempool, but returns at once; `work` is not called at all when the chain stops first.
    [[nodiscard]] virtual Result<void> post_mempool(
        std::function<Result<void>(const HeaderNode& tip)> work) = 0;

    /// Marks the beginning and the end of an import: initial download holds between, and steps share commits.
    /// The end waits until all that was handed in is committed and released.
    virtual void begin_import() = 0;
    [[nodiscard]] virtual Result<void> end_import() = 0;
    /// Hands over one block of an import, in any order; waits while the queue is full. A child waits in the
    /// store for its parent, also across restarts.
    [[nodiscard]] virtual Result<void> import_block(ParsedBlock block) = 0;
    /// Stores `meta[key] = value` in the commit that holds all blocks handed in before.
    [[nodiscard]] virtual Result<void> mark_import(std::string key, std::string value) = 0;
    [[nodiscard]] virtual ImportCounters import_counters() const = 0;

    /// Hands over a block that a peer sent, and returns at once. `done` is called on the chain thread when
    /// the block is stored or refused, committed or not, and must not wait; not at all when the chain stops
    /// first. Far behind the best header, blocks that wait share commits. What is on the way has no bound
    /// but the caller's.
    [[nodiscard]] virtual Result<void> deliver_block(ParsedBlock block,
                                                     std::function<void(const DeliveredBlock&)> done) = 0;
    /// Has `work` called on the chain thread, before any block that waits there, and returns at once; not at
    /// all when the chain stops first.
    [[nodiscard]] virtual Result<void> post_headers(std::function<void(HeaderDesk&)> work) = 0;

    [[nodiscard]] virtual ChainStatus status() const = 0;
    /// Held by the chain thread while it works. For tests that show that nobody else needs it.
    [[nodiscard]] virtual Mutex& chain_lock() = 0;
    /// Finishes the work under way, commits, ends the thread; later calls answer stopped.
    virtual void stop() = 0;
};

}  // namespace blockpub
