// SPDX-License-Identifier: MIT
#pragma once

#include "store/file_descriptor.hpp"
#include "store/lmdb.hpp"

#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <filesystem>

namespace blockpub {

/// Commits the write transactions of one environment, and tells what a failure means.
///
/// mdb_txn_commit writes the pages, syncs them, then writes the meta page through a synchronous descriptor,
/// and gives one errno for all three. Where the meta page failed, LMDB is in MDB_PANIC. Where the sync
/// failed, the kernel tells so to every descriptor of the file that was open at the time, each once: a second
/// descriptor, the witness, is synced after a failure and decides. If it is clean, all that was written has
/// reached the disk, and it was a write that failed.
///
/// Thread safety: one thread at a time. Blocking: syncs the disk.
class Committer {
 public:
    /// Requires: the environment exists. Errors: io.
    [[nodiscard]] static Result<Committer> open(const std::filesystem::path& data_file);

    struct Points {
        StoreFaults::Point commit;
        StoreFaults::Point sync;
    };
    /// Ends the transaction. Errors: disk_full, io (nothing has changed, may be repeated); outcome_unknown.
    [[nodiscard]] Result<void> commit(lmdb::Txn txn, lmdb::EnvRef env, StoreFaults* faults, Points points);

 private:
    [[nodiscard]] Error explain(int code, lmdb::EnvRef env) const;

    std::filesystem::path path_;
    FileDescriptor witness_;
};

}  // namespace blockpub
