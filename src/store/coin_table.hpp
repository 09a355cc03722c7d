// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "store/coin_memtable.hpp"
#include "store/committer.hpp"
#include "store/lmdb.hpp"

#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

namespace blockpub {

/// The coins on disk: the LMDB environment `coins/`, its tables `coin` and `meta`.
///
/// Thread safety: read transactions from any thread; `begin_write` and `commit` on the flusher's thread.
/// Source: docs/storage.md.
class CoinTable {
 public:
    struct Options {
        std::filesystem::path directory;  ///< of the environment; made when it is not there
        std::uint64_t map_bytes = 0;
        std::uint64_t min_free_disk = 0;
        StoreFaults* faults = nullptr;
    };
    [[nodiscard]] static Result<std::unique_ptr<CoinTable>> open(const Options& options);

    /// A read transaction of the newest commit; taken from a pool where one is parked. Errors: io.
    [[nodiscard]] Result<lmdb::Txn> begin_read() BLOCKPUB_EXCLUDES(mutex_);
    /// Lets a read transaction go, back into the pool.
    void end_read(lmdb::Txn txn) noexcept BLOCKPUB_EXCLUDES(mutex_);

    /// Errors: not_found, corrupt, io.
    [[nodiscard]] Result<Coin> find(const lmdb::Txn& txn, const Outpoint& outpoint) const;
    /// The tip whose coins the table holds; nothing in a fresh one. Errors: corrupt, io.
    [[nodiscard]] Result<std::optional<Tip>> tip(const lmdb::Txn& txn) const;
    [[nodiscard]] lmdb::Table coins() const noexcept { return coins_; }
    /// Bytes of the file; 0 when the system does not say.
    [[nodiscard]] std::uint64_t disk_bytes() const noexcept;

    /// Writes one generation and the tip whose coins they are, in one synced transaction.
    /// Result: number of the transaction that readers need to see it.
    /// Errors: disk_full, io (nothing has changed, may be repeated), outcome_unknown.
    [[nodiscard]] Result<std::uint64_t> write(const CoinMemtable& generation, const Tip& tip);

 private:
    CoinTable() = default;
    [[nodiscard]] Result<void> write_rows(lmdb::Txn& txn, const CoinMemtable& generation) const;
    [[nodiscard]] Result<void> check_free_disk() const;
    [[nodiscard]] Result<void> put(lmdb::Txn& txn, const CoinMemtable::Row& row) const;

    // Constant after construction.
    Options options_;
    lmdb::Env env_;
    lmdb::Table coins_;
    lmdb::Table meta_;

    std::optional<Committer> committer_;  // only on the flusher's thread

    Mutex mutex_;
    std::vector<lmdb::Txn> parked_ BLOCKPUB_GUARDED_BY(mutex_);
};

}  // namespace blockpub
