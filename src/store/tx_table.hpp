// SPDX-License-Identifier: MIT
#pragma once

#include "store/committer.hpp"
#include "store/lmdb.hpp"
#include "store/table_env.hpp"

#include <blockpub/hash.hpp>
#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace blockpub {

/// An environment of the transaction index, and its tables' handles.
class TxEnv : public TableEnv {
 public:
    using TableEnv::TableEnv;
    /// Result: LMDB's code.
    [[nodiscard]] int open_tables(lmdb::Txn& txn, unsigned flags);

    // Constant after open_tables.
    lmdb::Table transactions;
    lmdb::Table meta;
};

/// Which block has a transaction: the LMDB environment `txindex/`, its tables `tx` and `meta`.
///
/// Thread safety: `find` and `best` from any thread; `write` from one thread at a time.
/// Blocking: reads the disk; `write` syncs it.
/// Source: docs/storage.md.
class TxTable {
 public:
    struct Options {
        std::filesystem::path directory;  ///< of the environment; made when it is not there
        std::uint64_t map_bytes = 0;
        std::uint64_t min_free_disk = 0;
        StoreFaults* faults = nullptr;
    };
    [[nodiscard]] static Result<std::unique_ptr<TxTable>> open(const Options& options);

    /// The block that had the transaction last. Errors: corrupt, io.
    [[nodiscard]] Result<std::optional<BlockHash>> find(const Txid& txid) const;
    /// The block up to which everything is there; nothing in a fresh table. Errors: corrupt, io.
    [[nodiscard]] Result<std::optional<Tip>> best() const;

    /// Writes one batch, its rows in any order, and the block that it reaches, in one synced transaction.
    /// Errors: disk_full, io (nothing has changed); outcome_unknown.
    [[nodiscard]] Result<void> write(std::span<std::pair<Txid, BlockHash>> rows, const Tip& best);

 private:
    explicit TxTable(const Options& options) : options_(options) {}
    [[nodiscard]] Result<std::shared_ptr<TxEnv>> open_env(unsigned flags) const;
    [[nodiscard]] Result<void> initialise();

    const Options options_;
    std::shared_ptr<TxEnv> writer_;  // set by open
    mutable TableReader<TxEnv> reader_;
    std::optional<Committer> committer_;  // only on the writer's thread
};

}  // namespace blockpub
