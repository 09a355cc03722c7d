// SPDX-License-Identifier: MIT
#pragma once

#include "base/log.hpp"
#include "base/mutex.hpp"
#include "base/side_thread.hpp"
#include "store/committer.hpp"
#include "store/directory_lock.hpp"
#include "store/janitor.hpp"
#include "store/records.hpp"
#include "store/segment.hpp"
#include "store/segment_fill.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <cstdint>
#include <deque>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>

namespace blockpub {

struct BlobSegmentsOptions {
    std::filesystem::path directory;  ///< `<store>/blocks`; made when absent
    std::uint64_t segment_bytes = 0;
    std::size_t open_segments = 0;
    BlobEnd referenced_end;  ///< what the chain tables say: less than that on disk is damage
    std::shared_ptr<DirectoryLock> lock;
    std::shared_ptr<Janitor> janitor;
    StoreFaults* faults = nullptr;
    Log log;
};

/// The block files: append-only environments `00000.mdb`, `00001.mdb`, … of a fixed size. The one with the
/// highest number is written, all others are sealed.
///
/// Thread safety: `append`, `write_ahead` and `commit` from one thread at a time; all others from any thread,
/// concurrently.
/// Ownership: views keep the segment that they lie in.
/// Blocking: `commit` syncs the disk; readers never wait for it.
class BlobSegments {
 public:
    /// Errors: corrupt (the file is named), io, disk_full.
    [[nodiscard]] static Result<std::unique_ptr<BlobSegments>> open(BlobSegmentsOptions options);

    /// `derived`: it can be made again, and commit_ahead may leave it. Errors: limit.
    [[nodiscard]] Result<BlobPlace> append(SharedBytes bytes, bool derived = false) BLOCKPUB_EXCLUDES(mutex_);
    /// Writes what was appended, a synced transaction for each segment. On disk_full and io what is not
    /// written stays appended, at its places. Errors: also outcome_unknown.
    [[nodiscard]] Result<void> commit() BLOCKPUB_EXCLUDES(mutex_);
    /// Begins to write what was appended, on a thread of its own, so that the next `commit` has less to wait
    /// for. What fails is that commit's to tell.
    void write_ahead() BLOCKPUB_EXCLUDES(mutex_);
    /// Whether commit_ahead leaves nothing but what is derived.
    [[nodiscard]] bool may_leave_rest() const noexcept;
    /// As commit, of what `write_ahead` took. Requires: may_leave_rest.
    [[nodiscard]] Result<void> commit_ahead() BLOCKPUB_EXCLUDES(mutex_) { return end_ahead(); }
    /// Where the next blob would go.
    [[nodiscard]] BlobEnd end() const noexcept { return next_; }
    /// Where the first blob that is not written goes. Requires: nothing is being written ahead.
    [[nodiscard]] BlobEnd written_end() const noexcept;

    /// Sealed segments, each with the size of its file. From the writer's thread.
    [[nodiscard]] std::map<std::uint32_t, std::uint64_t> sealed() const BLOCKPUB_EXCLUDES(mutex_);
    /// Unlinks the files of sealed segments, and makes that durable; what is not there any more is done
    /// already. Views and reads under way keep their bytes. From the writer's thread. Errors: io, naming the
    /// first file that could not be removed; all others are gone then. The call may be repeated.
    [[nodiscard]] Result<void> remove(std::span<const std::uint32_t> segments) BLOCKPUB_EXCLUDES(mutex_);

    /// Errors: unavailable (the segment is gone), corrupt, io.
    [[nodiscard]] Result<SharedBytes> read(const BlobPlace& place) BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] Result<MappedBytes> map(const BlobPlace& place) BLOCKPUB_EXCLUDES(mutex_);

    struct Counters {
        std::uint64_t segments = 0;
        std::uint64_t open_segments = 0;
        std::uint64_t bytes_on_disk = 0;
        std::uint64_t pending_bytes = 0;
    };
    [[nodiscard]] Counters counters() const BLOCKPUB_EXCLUDES(mutex_);

 private:
    struct Pending {
        BlobPlace place;
        SharedBytes bytes;
        bool derived = false;
    };
    struct Sealed {
        std::shared_ptr<Segment> segment;
        std::list<std::uint32_t>::iterator position;
    };
    using PlaceKey = std::pair<std::uint32_t, std::uint64_t>;
    using Batch = std::deque<Pending>;

    explicit BlobSegments(BlobSegmentsOptions options) : options_(std::move(options)) {}

    [[nodiscard]] std::filesystem::path path_of(std::uint32_t segment) const;
    [[nodiscard]] Result<void> scan_directory() BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] Result<void> open_last() BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] Result<void> check_referenced_end() const;
    [[nodiscard]] Result<std::shared_ptr<Segment>> make_writer(std::uint32_t number);
    void seal_writer() BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] Result<void> end_ahead() BLOCKPUB_EXCLUDES(mutex_);
    /// What is not written stays in the batch.
    [[nodiscard]] Result<void> write_batch(Batch& batch) BLOCKPUB_EXCLUDES(mutex_);
    /// Writes the first `count` of the batch, which are of one segment.
    [[nodiscard]] Result<void> write_segment(std::uint32_t number, const Batch& batch, std::size_t count)
        BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] Result<void> sync_names();
    void forget_pending(Batch& batch, std::size_t count) BLOCKPUB_EXCLUDES(mutex_);
    void measure_fill() BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] Result<void> remove_file(std::uint32_t number) BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] Result<std::optional<SharedBytes>> find_pending(const BlobPlace& place) const
        BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] Result<std::shared_ptr<Segment>> segment_of(std::uint32_t number) BLOCKPUB_EXCLUDES(mutex_);
    void retire_writer(const std::shared_ptr<Segment>& segment) BLOCKPUB_EXCLUDES(mutex_);
    /// Runs `access(segment, place)` on the segment of a place, once more where LMDB had gone into MDB_PANIC.
    template <class T, class Access>
    [[nodiscard]] Result<T> with_segment(const BlobPlace& place, Access access) BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] int fault(StoreFaults::Point point) const noexcept;

    const BlobSegmentsOptions options_;

    // Only on the writer's thread.
    BlobEnd next_;
    SegmentFill fill_;
    Batch queue_;
    bool writing_ahead_ = false;

    // Of the thread that writes ahead while it does, of the writer's thread otherwise.
    Batch ahead_;
    Result<void> ahead_outcome_;
    std::optional<Committer> committer_;  // of the writer
    bool names_dirty_ = false;            // a file was made, its name is not synced

    mutable Mutex mutex_;
    std::map<std::uint32_t, std::uint64_t> file_bytes_ BLOCKPUB_GUARDED_BY(mutex_);
    std::map<PlaceKey, SharedBytes> pending_ BLOCKPUB_GUARDED_BY(mutex_);
    std::uint64_t pending_bytes_ BLOCKPUB_GUARDED_BY(mutex_) = 0;
    std::shared_ptr<Segment> writer_ BLOCKPUB_GUARDED_BY(mutex_);
    std::unordered_map<std::uint32_t, Sealed> sealed_ BLOCKPUB_GUARDED_BY(mutex_);
    std::list<std::uint32_t> recently_used_ BLOCKPUB_GUARDED_BY(mutex_);  // of sealed_, the latest first

    SideThread side_{"blob-writer"};  // last: its work uses the members above
};

}  // namespace blockpub
