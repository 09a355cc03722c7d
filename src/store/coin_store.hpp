// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/coin.hpp"

#include <blockpub/hash.hpp>
#include <blockpub/logger.hpp>
#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace blockpub {

/// A coin made (or restored) or, when empty, spent: the absolute value from now on.
struct CoinChange {
    Outpoint outpoint;
    std::optional<Coin> coin;
    /// The coin did not exist before: it may vanish without a trace when it is spent before it was written.
    bool fresh = false;
};

/// The coins of one tip.
///
/// Thread safety: distinct objects are safe; one object on one thread at a time.
/// Ownership: must not outlive the CoinStore. Holds a read transaction, and pins what was changed since: keep
/// it short. Errors: not_found for a coin that is not there (spent, or never made); corrupt, io.
class CoinSnapshot {
 public:
    struct Impl;
    explicit CoinSnapshot(std::unique_ptr<Impl>);
    CoinSnapshot(CoinSnapshot&&) noexcept;
    CoinSnapshot& operator=(CoinSnapshot&&) noexcept;
    ~CoinSnapshot();

    [[nodiscard]] const Tip& tip() const;
    [[nodiscard]] Result<Coin> find(const Outpoint& outpoint) const;
    /// Calls `visit` for every coin, in the order of txid (wire bytes) and position, until it returns an
    /// Error.
    [[nodiscard]] Result<void> scan(
        const std::function<Result<void>(const Outpoint&, const Coin&)>& visit) const;
    /// As many as the first byte of a txid has values.
    static constexpr std::size_t kParts = 256;
    /// The same for those coins alone whose txid begins with the byte `part`. Requires: part < kParts.
    [[nodiscard]] Result<void> scan_part(
        std::size_t part, const std::function<Result<void>(const Outpoint&, const Coin&)>& visit) const;

 private:
    std::unique_ptr<Impl> impl_;
};

struct CoinStoreOptions {
    std::filesystem::path directory;                   ///< `<datadir>/<chain>`; `coins/` is made in it
    std::uint64_t map_bytes = std::uint64_t{1} << 40;  ///< address space, reserved once
    std::uint64_t budget_bytes = std::uint64_t{450}
                                 << 20;  ///< of changes in memory (`-dbcache`); half of it starts a flush
    std::chrono::seconds flush_interval{60 * 60};  ///< changes do not wait longer than this for a flush
    std::uint64_t min_free_disk = std::uint64_t{50} << 20;
    std::chrono::milliseconds retry_first{100};
    std::chrono::milliseconds retry_longest{10'000};
    Logger* logger = nullptr;
    /// Tests only; may be null. Asked in the flusher, where a test may also wait.
    StoreFaults* faults = nullptr;
};

struct CoinStoreStatus {
    Tip flushed;              ///< the coins on disk are this tip's (`coins_tip`)
    Tip tip;                  ///< that of the newest snapshot
    std::uint64_t bytes = 0;  ///< of changes in memory, what snapshots pin included
    std::uint64_t budget_bytes = 0;
    std::uint64_t disk_bytes = 0;  ///< of the table's file
    std::uint64_t flushes = 0;
    std::uint64_t failed_flushes = 0;
    bool flushing = false;
    bool failing = false;        ///< the last attempt failed, and will be repeated
    bool write_stopped = false;  ///< sticky: a sync failed
    std::string last_error;
};

/// The unspent outputs: an LMDB environment of its own (`coins/`), so that a long flush never makes the chain
/// thread wait for a write transaction, under two generations of changes in memory: one that grows, and one
/// that is being written and never changes again. The changes of the newest steps lie over them, until there
/// is time to put them there.
///
/// Thread safety: methods under "writer" from one thread at a time; all others from any thread.
/// Blocking: readers take a shard's mutex for a look-up and no other; the writer waits in `make_room` only.
class CoinStore {
 public:
    /// Errors: corrupt, disk_full, io.
    [[nodiscard]] static Result<std::unique_ptr<CoinStore>> open(CoinStoreOptions options);
    virtual ~CoinStore() = default;

    // Readers.
    /// Errors: those of available(); io.
    [[nodiscard]] virtual Result<CoinSnapshot> snapshot() const = 0;
    [[nodiscard]] virtual CoinStoreStatus status() const = 0;

    /// Whether they may be read: not before they are those of a tip that readers know. Errors: unavailable,
    /// with the reason of withhold.
    [[nodiscard]] virtual Result<void> available() const = 0;

    // Writer.

    /// Snapshots are refused with `reason` from here on; empty: given again.
    virtual void withhold(std::string reason) = 0;
    /// The coin as of all that was applied, shown or not. Errors: not_found, corrupt, io.
    [[nodiscard]] virtual Result<Coin> find(const Outpoint& outpoint) const = 0;
    /// Adds to the step in the making; snapshots do not see it yet.
    virtual void apply(std::vector<CoinChange> changes) = 0;
    void apply(std::span<const CoinChange> changes) {
        apply(std::vector<CoinChange>(changes.begin(), changes.end()));
    }
    /// Shows all that was applied, as the coins of `tip`, to later snapshots.
    virtual void publish(const Tip& tip) = 0;
    /// Says that all that was published is durable in the chain tables. Only such changes may be written, and
    /// when half of the budget is used (or `flush_interval` has passed) a flush of them begins on the
    /// flusher's thread.
    virtual void committed() = 0;
    /// Does a part of the work that what was committed leaves behind, for when nobody waits: what is left of
    /// it makes the calls above take longer. Result: whether there is more. Requires: all is committed.
    virtual bool settle() = 0;
    /// Whether `committed` would begin a flush.
    [[nodiscard]] virtual bool flush_due() const = 0;
    /// Waits for a flush under way until there is room in the budget. Errors: disk_full, when there is none
    /// because flushes fail, whatever the cause (to be repeated); outcome_unknown, stopped.
    [[nodiscard]] virtual Result<void> make_room() = 0;
    /// Flushes all that is committed and waits for it. Errors: unavailable, when something was published that
    /// is not committed; disk_full, io (to be repeated), outcome_unknown, stopped.
    [[nodiscard]] virtual Result<void> flush() = 0;
    /// Ends the flusher; a flush under way is finished. Does not flush.
    virtual void stop() = 0;
};

}  // namespace blockpub
