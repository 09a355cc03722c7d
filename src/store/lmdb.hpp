// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/bytes.hpp>
#include <blockpub/result.hpp>

#include <lmdb.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// The one place that knows LMDB's C interface: everything else in the store uses these types.

namespace blockpub::lmdb {

/// The Error for a code that LMDB or errno gave; `what` names the object and what was tried.
[[nodiscard]] Error make_error(int code, std::string_view what);

/// A table of an environment. Valid as long as the environment.
struct Table {
    MDB_dbi handle = 0;
};

struct EnvOptions {
    std::filesystem::path path;
    unsigned flags = 0;           ///< of mdb_env_open
    std::uint64_t map_bytes = 0;  ///< 0: as the file says
    unsigned max_tables = 0;      ///< 0: only the unnamed one
    unsigned max_readers = 0;     ///< 0: LMDB's default
};

/// An open environment whose map may be looked into; does not own it.
class EnvRef {
 public:
    explicit EnvRef(MDB_env* env) : env_(env) {}
    [[nodiscard]] MDB_env* raw() const noexcept { return env_; }
    [[nodiscard]] unsigned page_size() const noexcept;
    /// Number of the last page that the last commit uses.
    [[nodiscard]] std::uint64_t last_page() const noexcept;
    [[nodiscard]] std::uint64_t map_bytes() const noexcept;
    [[nodiscard]] int descriptor() const noexcept;
    /// Frees the reader slots of processes that died. Result: how many.
    [[nodiscard]] Result<int> clear_stale_readers() const;

 private:
    MDB_env* env_;
};

/// Owns an environment and its map.
///
/// One process must not open one file twice, except read-only without locks: closing one handle would drop
/// the reader slots of the other. The store's directory lock is what prevents it. Thread safety: after
/// `open`, transactions may begin on any thread. Blocking: the destructor unmaps.
class Env {
 public:
    /// Errors: corrupt (also a file cut short, which would end the process when read), disk_full, io.
    [[nodiscard]] static Result<Env> open(const EnvOptions& options);
    [[nodiscard]] EnvRef ref() const noexcept { return EnvRef(env_.get()); }
    /// Closes; for the Env that is kept as a plain value.
    void reset() noexcept { env_.reset(); }

 private:
    struct Close {
        void operator()(MDB_env* env) const noexcept { mdb_env_close(env); }
    };
    std::unique_ptr<MDB_env, Close> env_;
};

/// A transaction; aborted when it goes.
///
/// Thread safety: one thread at a time (read transactions may move between threads: environments are
/// MDB_NOTLS). Views that `get` gives end with it, unless the caller knows that they lie in overflow pages
/// never rewritten.
class Txn {
 public:
    Txn() = default;
    /// Result: LMDB's code besides the transaction, since callers branch on it (MDB_PANIC, MDB_READERS_FULL).
    [[nodiscard]] static std::pair<int, Txn> begin(EnvRef env, unsigned flags);

    [[nodiscard]] MDB_txn* raw() const noexcept { return txn_.get(); }
    [[nodiscard]] std::uint64_t id() const noexcept { return mdb_txn_id(txn_.get()); }
    [[nodiscard]] bool is_open() const noexcept { return txn_ != nullptr; }

    /// Opens a table; null name: the unnamed one. Result: LMDB's code.
    [[nodiscard]] int open_table(const char* name, unsigned flags, Table& table);
    /// Result: LMDB's code, MDB_NOTFOUND among them.
    [[nodiscard]] int get(Table table, ByteSpan key, ByteSpan& value) const;
    [[nodiscard]] int put(Table table, ByteSpan key, ByteSpan value, unsigned flags = 0);
    /// Result: 0 also when the key was absent.
    [[nodiscard]] int erase(Table table, ByteSpan key);
    /// Ends the transaction, whatever the result.
    [[nodiscard]] int commit();
    void abort() noexcept { txn_.reset(); }
    /// Lets go of the state, but keeps the reader slot. Requires: a read transaction.
    void park() noexcept { mdb_txn_reset(txn_.get()); }
    /// Takes the newest state. Result: LMDB's code; after a failure the transaction is parked still.
    [[nodiscard]] int renew() { return mdb_txn_renew(txn_.get()); }

 private:
    struct Abort {
        void operator()(MDB_txn* txn) const noexcept { mdb_txn_abort(txn); }
    };
    std::unique_ptr<MDB_txn, Abort> txn_;
};

/// A position in a table. Must go before its transaction.
class Cursor {
 public:
    [[nodiscard]] static std::pair<int, Cursor> open(const Txn& txn, Table table);
    /// Moves as `operation` says; `key` is read by those that search. Result: LMDB's code.
    [[nodiscard]] int move(MDB_cursor_op operation, ByteSpan& key, ByteSpan& value);

 private:
    struct Close {
        void operator()(MDB_cursor* cursor) const noexcept { mdb_cursor_close(cursor); }
    };
    std::unique_ptr<MDB_cursor, Close> cursor_;
};

[[nodiscard]] inline ByteSpan as_bytes(std::string_view text) noexcept {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

[[nodiscard]] inline std::string_view as_text(ByteSpan bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace blockpub::lmdb
