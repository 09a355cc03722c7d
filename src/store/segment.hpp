// SPDX-License-Identifier: MIT
#pragma once

#include "store/directory_lock.hpp"
#include "store/janitor.hpp"
#include "store/lmdb.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>

namespace blockpub {

/// One open segment file: rising number → bytes, in the unnamed table, keys of 8 bytes big-endian.
///
/// Thread safety: reading from any thread; one writer.
/// Ownership: by shared_ptr; views hold it. The last reference hands it to the janitor.
class Segment final : public Janitor::Disposable {
 public:
    /// Opens a file that nobody writes to any more: without locks, without a lock file.
    /// Errors: unavailable (no such file), corrupt (shorter than its last commit, or not a segment), io.
    [[nodiscard]] static Result<std::shared_ptr<Segment>> open_sealed(
        const std::filesystem::path& path, const std::shared_ptr<Janitor>& janitor);
    /// Opens or makes the file that is written. The lock lasts as long as the environment: the same file must
    /// not be opened with locks twice.
    [[nodiscard]] static Result<std::shared_ptr<Segment>> open_writer(
        const std::filesystem::path& path, std::uint64_t map_bytes, std::shared_ptr<DirectoryLock> lock,
        const std::shared_ptr<Janitor>& janitor);

    [[nodiscard]] lmdb::EnvRef env() const noexcept { return env_.ref(); }
    [[nodiscard]] lmdb::Table table() const noexcept { return table_; }
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

    /// Number after the last one that is committed; 0 when there is none.
    [[nodiscard]] Result<std::uint64_t> next_number() const;

    /// `read` has the kernel copy a large value, so that a disk that cannot be read is an error; going
    /// through the map it would end the process. Errors: corrupt (nothing there, or of another size),
    /// outcome_unknown (LMDB is in MDB_PANIC), io.
    [[nodiscard]] static Result<SharedBytes> read(const std::shared_ptr<Segment>& segment,
                                                  const BlobPlace& place);
    [[nodiscard]] static Result<MappedBytes> map(const std::shared_ptr<Segment>& segment,
                                                 const BlobPlace& place);

 private:
    [[nodiscard]] static Result<std::shared_ptr<Segment>> open(const std::filesystem::path& path,
                                                               unsigned flags, std::uint64_t map_bytes,
                                                               const std::shared_ptr<Janitor>& janitor);
    struct Found {
        ByteSpan value;            ///< in the map
        std::uint64_t offset = 0;  ///< in the file
    };
    [[nodiscard]] Result<Found> find(const lmdb::Txn& txn, const BlobPlace& place) const;
    [[nodiscard]] Result<SharedBytes> read_file(std::uint64_t offset, std::size_t size) const;

    std::filesystem::path path_;
    std::shared_ptr<DirectoryLock> lock_;  // before env_: released after it
    lmdb::Env env_;
    lmdb::Table table_;
    std::size_t page_size_ = 4096;
    bool file_offsets_known_ = true;
};

}  // namespace blockpub
