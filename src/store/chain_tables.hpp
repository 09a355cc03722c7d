// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "store/committer.hpp"
#include "store/directory_lock.hpp"
#include "store/lmdb.hpp"
#include "store/overlay.hpp"
#include "store/records.hpp"

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

/// An environment of the chain tables, its tables' handles, and read transactions that are kept for the next
/// reader.
///
/// Thread safety: every method from any thread.
class ChainEnv {
 public:
    static constexpr std::size_t kParkedMost = 64;

    /// `writable` false: without locks, for reading on after MDB_PANIC.
    [[nodiscard]] static Result<std::shared_ptr<ChainEnv>> open(const ChainTablesOptions& options,
                                                                bool writable);

    [[nodiscard]] lmdb::EnvRef env() const noexcept { return env_.ref(); }

    /// A read transaction at the newest commit. Result: LMDB's code.
    [[nodiscard]] std::pair<int, lmdb::Txn> begin_read() BLOCKPUB_EXCLUDES(mutex_);
    /// Takes back a transaction that `begin_read` gave.
    void end_read(lmdb::Txn txn) noexcept BLOCKPUB_EXCLUDES(mutex_);

    lmdb::Table header;
    lmdb::Table active;
    lmdb::Table tips;
    lmdb::Table event;
    lmdb::Table meta;

    /// Result: LMDB's code; MDB_NOTFOUND when a table is not there.
    [[nodiscard]] int open_tables(lmdb::Txn& txn, unsigned flags);

 private:
    std::shared_ptr<DirectoryLock> lock_;
    lmdb::Env env_;
    Mutex mutex_;
    std::vector<lmdb::Txn> parked_ BLOCKPUB_GUARDED_BY(mutex_);
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

    /// A read transaction at the newest commit, and the environment it belongs to.
    struct Reading {
        std::shared_ptr<ChainEnv> env;
        lmdb::Txn txn;
    };
    /// Errors: io.
    [[nodiscard]] Result<Reading> begin_read() BLOCKPUB_EXCLUDES(mutex_);
    /// Takes a newer state into a transaction. Errors: io.
    [[nodiscard]] Result<void> renew(Reading& reading) BLOCKPUB_EXCLUDES(mutex_);

    /// As committed last.
    [[nodiscard]] Result<BlobEnd> blob_end() BLOCKPUB_EXCLUDES(mutex_);

 private:
    explicit ChainTables(ChainTablesOptions options) : options_(std::move(options)) {}
    [[nodiscard]] Result<void> open_writer();
    [[nodiscard]] Result<void> check_length() const;
    [[nodiscard]] Result<void> initialise();
    [[nodiscard]] Result<void> check_identity(const lmdb::Txn& txn);
    [[nodiscard]] int put_layer(lmdb::Txn& txn, const Layer& layer) const;
    [[nodiscard]] int put(lmdb::Txn& txn, lmdb::Table table, ByteSpan key, ByteSpan value,
                          unsigned flags = 0) const;
    [[nodiscard]] int erase(lmdb::Txn& txn, lmdb::Table table, ByteSpan key) const;
    [[nodiscard]] int fault(StoreFaults::Point point) const noexcept;
    [[nodiscard]] std::shared_ptr<ChainEnv> current() const BLOCKPUB_EXCLUDES(mutex_);
    /// Replaces an environment that is in MDB_PANIC by one that can be read.
    [[nodiscard]] Result<std::shared_ptr<ChainEnv>> replace(const std::shared_ptr<ChainEnv>& panicked)
        BLOCKPUB_EXCLUDES(mutex_);

    const ChainTablesOptions options_;
    std::shared_ptr<ChainEnv> writer_;  // set by open
    std::optional<Committer> committer_;
    lmdb::Txn probe_;  // parked; a slot of the writer's own, so that asking for the number cannot fail
    mutable Mutex mutex_;
    std::shared_ptr<ChainEnv> reader_ BLOCKPUB_GUARDED_BY(mutex_);  // the writer's, but after MDB_PANIC
};

}  // namespace blockpub
