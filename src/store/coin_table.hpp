// SPDX-License-Identifier: MIT
#pragma once

#include "store/coin_memtable.hpp"
#include "store/committer.hpp"
#include "store/lmdb.hpp"
#include "store/table_env.hpp"

#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace blockpub {

/// An environment of the coins, and its tables' handles.
class CoinEnv : public TableEnv {
 public:
    using TableEnv::TableEnv;
    /// `flags`: MDB_RDONLY | MDB_NOLOCK for reading on after MDB_PANIC, else 0. Errors: those of lmdb::Env.
    [[nodiscard]] static Result<std::shared_ptr<CoinEnv>> open(const std::filesystem::path& directory,
                                                               std::uint64_t map_bytes, unsigned flags);
    /// Result: LMDB's code.
    [[nodiscard]] int open_tables(lmdb::Txn& txn, unsigned flags);

    // Constant after open_tables.
    lmdb::Table coins;
    lmdb::Table meta;
};

/// The coins on disk: the LMDB environment `coins/`, its tables `coin` and `meta`.
///
/// Thread safety: `write` on the flusher's thread, all others from any thread.
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

    using Reading = TableReader<CoinEnv>::Reading;
    /// At the newest commit. Errors: io.
    [[nodiscard]] Result<Reading> begin_read() { return reader_.begin_read(); }
    /// Takes the newest commit into a transaction. Errors: io.
    [[nodiscard]] Result<void> renew(Reading& reading) { return reader_.renew(reading); }

    /// Errors: not_found, corrupt, io.
    [[nodiscard]] Result<Coin> find(const Reading& reading, const Outpoint& outpoint) const;
    /// The tip whose coins the table holds; nothing in a fresh one. Errors: corrupt, io.
    [[nodiscard]] Result<std::optional<Tip>> tip(const Reading& reading) const;
    /// Bytes of the file; 0 when the system does not say.
    [[nodiscard]] std::uint64_t disk_bytes() const noexcept;

    /// Writes one generation and the tip whose coins they are, in one synced transaction.
    /// Result: number of the transaction that readers need to see it.
    /// Errors: disk_full, io (nothing has changed, may be repeated), outcome_unknown.
    [[nodiscard]] Result<std::uint64_t> write(const CoinMemtable& generation, const Tip& tip);

 private:
    CoinTable() = default;
    [[nodiscard]] Result<void> write_rows(lmdb::Txn& txn, const CoinMemtable& generation) const;
    [[nodiscard]] Result<void> put(lmdb::Txn& txn, const CoinMemtable::Row& row) const;

    [[nodiscard]] Result<void> open_writer();
    /// Opens the tables, and makes them in a new environment.
    [[nodiscard]] Result<void> initialise();

    // Constant after construction.
    Options options_;
    std::shared_ptr<CoinEnv> writer_;

    std::optional<Committer> committer_;  // only on the flusher's thread

    TableReader<CoinEnv> reader_;
};

}  // namespace blockpub
