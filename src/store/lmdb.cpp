// SPDX-License-Identifier: MIT
#include "store/lmdb.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

namespace blockpub::lmdb {
namespace {

MDB_val to_val(ByteSpan bytes) noexcept {
    // LMDB takes a non-const pointer, and does not write through it.
    return {bytes.size(), const_cast<std::uint8_t*>(bytes.data())};
}

ByteSpan from_val(const MDB_val& value) noexcept {
    return {static_cast<const std::uint8_t*>(value.mv_data), value.mv_size};
}

Errc kind_of(int code) noexcept {
    switch (code) {
        case MDB_NOTFOUND:
            return Errc::not_found;
        case MDB_CORRUPTED:
        case MDB_PAGE_NOTFOUND:
        case MDB_INVALID:
        case MDB_KEYEXIST:  // of MDB_APPEND: the table holds what should come later
        case MDB_INCOMPATIBLE:
            return Errc::corrupt;
        case MDB_VERSION_MISMATCH:
            return Errc::unsupported;
        case MDB_PANIC:
            return Errc::outcome_unknown;
        case MDB_MAP_FULL:
        case ENOSPC:
        case EDQUOT:
        case EFBIG:
            return Errc::disk_full;
        case EAGAIN:
        case EBUSY:
            return Errc::busy;
        default:
            return Errc::io;
    }
}

}  // namespace

Error make_error(int code, std::string_view what) {
    return Error{kind_of(code), fmt::format("{}: {}", what, mdb_strerror(code))};
}

unsigned EnvRef::page_size() const noexcept {
    MDB_stat stat{};
    mdb_env_stat(env_, &stat);
    return stat.ms_psize;
}

std::uint64_t EnvRef::last_page() const noexcept {
    MDB_envinfo info{};
    mdb_env_info(env_, &info);
    return info.me_last_pgno;
}

std::uint64_t EnvRef::map_bytes() const noexcept {
    MDB_envinfo info{};
    mdb_env_info(env_, &info);
    return info.me_mapsize;
}

int EnvRef::descriptor() const noexcept {
    mdb_filehandle_t descriptor = -1;
    mdb_env_get_fd(env_, &descriptor);
    return descriptor;
}

Result<int> EnvRef::clear_stale_readers() const {
    int dead = 0;
    if (const int code = mdb_reader_check(env_, &dead); code != 0) {
        return std::unexpected(make_error(code, "clearing stale readers"));
    }
    return dead;
}

namespace {

/// What lies behind the end of the file must not be read: it would end the process.
Result<void> check_length(EnvRef env, const EnvOptions& options) {
    const auto path = (options.flags & MDB_NOSUBDIR) != 0 ? options.path : options.path / "data.mdb";
    struct stat status{};
    if (::fstat(env.descriptor(), &status) != 0) return std::unexpected(make_error(errno, path.native()));
    const std::uint64_t needed = (env.last_page() + 1) * env.page_size();
    if (static_cast<std::uint64_t>(status.st_size) >= needed) return {};
    return fail(Errc::corrupt, fmt::format("{} is cut short: it has {} bytes, its last commit needs {}",
                                           path.native(), status.st_size, needed));
}

}  // namespace

Result<Env> Env::open(const EnvOptions& options) {
    const auto failed = [&](int code) { return std::unexpected(make_error(code, options.path.native())); };
    MDB_env* raw = nullptr;
    if (const int code = mdb_env_create(&raw); code != 0) return failed(code);
    Env env;
    env.env_.reset(raw);
    if (options.map_bytes != 0) {
        if (const int code = mdb_env_set_mapsize(raw, options.map_bytes); code != 0) return failed(code);
    }
    if (options.max_tables != 0) {
        if (const int code = mdb_env_set_maxdbs(raw, options.max_tables); code != 0) return failed(code);
    }
    if (options.max_readers != 0) {
        if (const int code = mdb_env_set_maxreaders(raw, options.max_readers); code != 0) return failed(code);
    }
    if (const int code = mdb_env_open(raw, options.path.c_str(), options.flags, 0600); code != 0)
        return failed(code);
    if (auto whole = check_length(env.ref(), options); !whole) return forward_error(whole);
    return env;
}

std::pair<int, Txn> Txn::begin(EnvRef env, unsigned flags) {
    MDB_txn* raw = nullptr;
    const int code = mdb_txn_begin(env.raw(), nullptr, flags, &raw);
    Txn txn;
    if (code == 0) txn.txn_.reset(raw);
    return {code, std::move(txn)};
}

int Txn::open_table(const char* name, unsigned flags, Table& table) {
    return mdb_dbi_open(txn_.get(), name, flags, &table.handle);
}

int Txn::get(Table table, ByteSpan key, ByteSpan& value) const {
    MDB_val k = to_val(key);
    MDB_val v{};
    const int code = mdb_get(txn_.get(), table.handle, &k, &v);
    if (code == 0) value = from_val(v);
    return code;
}

int Txn::put(Table table, ByteSpan key, ByteSpan value, unsigned flags) {
    MDB_val k = to_val(key);
    MDB_val v = to_val(value);
    return mdb_put(txn_.get(), table.handle, &k, &v, flags);
}

int Txn::erase(Table table, ByteSpan key) {
    MDB_val k = to_val(key);
    const int code = mdb_del(txn_.get(), table.handle, &k, nullptr);
    return code == MDB_NOTFOUND ? 0 : code;
}

int Txn::commit() {
    return mdb_txn_commit(txn_.release());
}

std::pair<int, Cursor> Cursor::open(const Txn& txn, Table table) {
    MDB_cursor* raw = nullptr;
    const int code = mdb_cursor_open(txn.raw(), table.handle, &raw);
    Cursor cursor;
    if (code == 0) cursor.cursor_.reset(raw);
    return {code, std::move(cursor)};
}

int Cursor::move(MDB_cursor_op operation, ByteSpan& key, ByteSpan& value) {
    MDB_val k = to_val(key);
    MDB_val v{};
    const int code = mdb_cursor_get(cursor_.get(), &k, &v, operation);
    if (code == 0) {
        key = from_val(k);
        value = from_val(v);
    }
    return code;
}

}  // namespace blockpub::lmdb
