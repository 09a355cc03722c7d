// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "store/directory_lock.hpp"
#include "store/lmdb.hpp"

#include <blockpub/result.hpp>

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace blockpub {

/// An environment with read transactions that are kept for the next reader. What derives from it has the
/// tables' handles.
///
/// Thread safety: every method from any thread.
/// Ownership: the lock, where there is one, goes after the environment.
class TableEnv {
 public:
    TableEnv(lmdb::Env env, std::shared_ptr<DirectoryLock> lock)
        : lock_(std::move(lock)), env_(std::move(env)) {}
    [[nodiscard]] lmdb::EnvRef ref() const noexcept { return env_.ref(); }

    /// A read transaction at the newest commit. Result: LMDB's code.
    [[nodiscard]] std::pair<int, lmdb::Txn> begin_read() BLOCKPUB_EXCLUDES(mutex_);
    /// Takes back a transaction that `begin_read` gave.
    void end_read(lmdb::Txn txn) noexcept BLOCKPUB_EXCLUDES(mutex_);

 private:
    std::shared_ptr<DirectoryLock> lock_;
    lmdb::Env env_;
    Mutex mutex_;
    std::vector<lmdb::Txn> parked_ BLOCKPUB_GUARDED_BY(mutex_);
};

/// Reads from the writer's environment, and goes on from one of its own where LMDB leaves that in MDB_PANIC.
///
/// Env derives from TableEnv, and has `open_tables`.
/// Thread safety: `read_from` before the first reader; the others from any thread.
template <class Env>
class TableReader {
 public:
    /// A read transaction, and the environment it belongs to.
    struct Reading {
        std::shared_ptr<Env> env;
        lmdb::Txn txn;
    };
    using Reopen = std::function<Result<std::shared_ptr<Env>>()>;

    /// `reopen` opens the file once more, read-only and without locks; errors speak of `name`.
    void read_from(std::shared_ptr<Env> writer, std::string name, Reopen reopen) BLOCKPUB_EXCLUDES(mutex_) {
        name_ = std::move(name);
        reopen_ = std::move(reopen);
        const MutexLock lock(mutex_);
        env_ = std::move(writer);
    }

    /// At the newest commit. Errors: io.
    [[nodiscard]] Result<Reading> begin_read() BLOCKPUB_EXCLUDES(mutex_) {
        auto env = current();
        auto [code, txn] = env->begin_read();
        if (code == MDB_PANIC) {
            auto replaced = replace(env);
            if (!replaced) return forward_error(replaced);
            env = std::move(*replaced);
            std::tie(code, txn) = env->begin_read();
        }
        if (code != 0) return fail(Errc::io, lmdb::make_error(code, name_).context);
        return Reading{std::move(env), std::move(txn)};
    }

    /// Takes the newest commit into a transaction. Errors: io.
    [[nodiscard]] Result<void> renew(Reading& reading) BLOCKPUB_EXCLUDES(mutex_) {
        reading.txn.park();
        if (reading.txn.renew() == 0) return {};
        auto again = begin_read();
        if (!again) return forward_error(again);
        reading = std::move(*again);
        return {};
    }

 private:
    [[nodiscard]] std::shared_ptr<Env> current() const BLOCKPUB_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        return env_;
    }
    [[nodiscard]] Result<std::shared_ptr<Env>> replace(const std::shared_ptr<Env>& panicked)
        BLOCKPUB_EXCLUDES(mutex_) {
        auto fresh = reopen_();
        if (!fresh) return fresh;
        auto [code, txn] = lmdb::Txn::begin((*fresh)->ref(), MDB_RDONLY);
        if (code == 0) code = (*fresh)->open_tables(txn, 0);
        if (code == 0) code = txn.commit();
        if (code != 0) return std::unexpected(lmdb::make_error(code, name_));
        const MutexLock lock(mutex_);
        // Several readers may have found out at a time; the first one's is kept.
        if (env_ == panicked) env_ = *fresh;
        return env_;
    }

    std::string name_;
    Reopen reopen_;
    mutable Mutex mutex_;
    std::shared_ptr<Env> env_ BLOCKPUB_GUARDED_BY(mutex_);  // the writer's, but after MDB_PANIC
};

}  // namespace blockpub
