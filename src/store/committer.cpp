// SPDX-License-Identifier: MIT
#include "store/committer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace blockpub {
namespace {

Error unknown_outcome(const std::filesystem::path& path, const char* what, int code) {
    return {Errc::outcome_unknown,
            fmt::format("{}: {} failed ({}); what is on disk is not known, and writing has stopped",
                        path.native(), what, mdb_strerror(code))};
}

/// Whether a write can fail with this code without anything being wrong with what was written before.
bool may_be_a_failed_write(int code) noexcept {
    switch (code) {
        case ENOSPC:
        case EDQUOT:
        case EFBIG:
        case EIO:  // also LMDB's word for a short write
        case ENOMEM:
            return true;
        default:
            return false;
    }
}

}  // namespace

Result<Committer> Committer::open(const std::filesystem::path& data_file) {
    FileDescriptor descriptor(::open(data_file.c_str(), O_RDWR | O_CLOEXEC));
    if (!descriptor.is_open())
        return fail(Errc::io, fmt::format("{}: {}", data_file.native(), std::strerror(errno)));
    Committer committer;
    committer.path_ = data_file;
    committer.witness_ = std::move(descriptor);
    return committer;
}

Result<void> Committer::commit(lmdb::Txn txn, lmdb::EnvRef env, StoreFaults* faults, Points points) {
    if (faults != nullptr) {
        if (const int code = faults->at(points.commit); code != 0) {
            return std::unexpected(lmdb::make_error(code, path_.native()));
        }
        if (const int code = faults->at(points.sync); code != 0) {
            return std::unexpected(unknown_outcome(path_, "a sync", code));
        }
    }
    const int code = txn.commit();
    if (code != 0) return std::unexpected(explain(code, env));
    return {};
}

Error Committer::explain(int code, lmdb::EnvRef env) const {
    if (lmdb::Txn::begin(env, MDB_RDONLY).first == MDB_PANIC)
        return unknown_outcome(path_, "writing the meta page", code);
    // LMDB's own codes are negative, and come before the first page is written.
    if (code < 0) return lmdb::make_error(code, path_.native());
    if (::fdatasync(witness_.value()) != 0) return unknown_outcome(path_, "a sync", errno);
    if (!may_be_a_failed_write(code)) return unknown_outcome(path_, "a commit", code);
    return lmdb::make_error(code, path_.native());
}

}  // namespace blockpub
