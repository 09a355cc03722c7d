// SPDX-License-Identifier: MIT
#pragma once

#include "store/committer.hpp"
#include "store/lmdb.hpp"
#include "store/overlay.hpp"
#include "store/records.hpp"
#include "store/table_env.hpp"

#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace blockpub {

struct ChainTablesOptions {
    std::filesystem::path directory;  ///< `<store>/chain`; made when absent
    std::uint64_t map_bytes = 0;
    NetworkRecord network;
    bool fresh = false;  ///< no blob was ever stored: what there is may be made anew if it cannot be opened
    std::shared_ptr<DirectoryLock> lock;
    StoreFaults* faults = nullptr;
};

/// An environment of the chain tables, and their handles.
class ChainEnv : public TableEnv {
 public:
    using TableEnv::TableEnv;
    /// `writable` false: without locks, for reading on after MDB_PANIC.
    [[nodiscard]] static Result<std::shared_ptr<ChainEnv>> open(const ChainTablesOptions& options,
                                                                bool writable);
    /// Result: LMDB's code; MDB_NOTFOUND when a table is not there.
    [[nodiscard]] int open_tables(lmdb::Txn& txn, unsigned flags);

    // Constant after open_tables.
    lmdb::Table header;
    lmdb::Table active;
    lmdb::Table tips;
    lmdb::Table event;
    lmdb::Table meta;
};

/// The tables header, active, tips, event and meta on the disk. Knows nothing of layers but how to write one.
///
/// Thread safety: `write` from one thread at a time; all others from any thread.
/// Blocking: `write` syncs the disk; readers never wait for it.
class ChainTables {
 public:
    /// Errors: unsupported (a newer schema), invalid_argument (another chain), corrupt, disk_full, io.
    [[nodiscard]] static Result<std::unique_ptr<ChainTables>> open(ChainTablesOptions options);

    /// Writes a layer and the end of the blobs that it may refer to in one synced transaction.
    /// Result: the number from which on read transactions hold it.
    /// Errors: disk_full, io (nothing has changed); outcome_unknown.
    [[nodiscard]] Result<std::uint64_t> write(const Layer& layer, const BlobEnd& blob_end);

    using Reading = TableReader<ChainEnv>::Reading;
    /// Errors: io.
    [[nodiscard]] Result<Reading> begin_read() { return reader_.begin_read(); }
    /// Takes a newer state into a transaction. Errors: io.
    [[nodiscard]] Result<void> renew(Reading& reading) { return reader_.renew(reading); }

    /// As committed last.
    [[nodiscard]] Result<BlobEnd> blob_end();

 private:
    explicit ChainTables(ChainTablesOptions options) : options_(std::move(options)) {}
    [[nodiscard]] Result<void> open_writer();
    [[nodiscard]] Result<void> initialise();
    [[nodiscard]] Result<void> check_identity(const lmdb::Txn& txn);
    [[nodiscard]] int put_layer(lmdb::Txn& txn, const Layer& layer) const;
    [[nodiscard]] int put(lmdb::Txn& txn, lmdb::Table table, ByteSpan key, ByteSpan value,
                          unsigned flags = 0) const;
    [[nodiscard]] int erase(lmdb::Txn& txn, lmdb::Table table, ByteSpan key) const;
    [[nodiscard]] int fault(StoreFaults::Point point) const noexcept;

    const ChainTablesOptions options_;
    std::shared_ptr<ChainEnv> writer_;  // set by open
    std::optional<Committer> committer_;
    lmdb::Txn probe_;  // parked; a slot of the writer's own, so that asking for the number cannot fail
    TableReader<ChainEnv> reader_;
};

}  // namespace blockpub
