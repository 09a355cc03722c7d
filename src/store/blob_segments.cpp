// SPDX-License-Identifier: MIT
#include "store/blob_segments.hpp"

#include "base/check.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

namespace blockpub {
namespace {

constexpr std::uint64_t kFreshPages = 2;  // a new environment's meta pages

/// The number in a segment's file name; nothing for any other name.
std::optional<std::uint32_t> parse_name(const std::string& name) {
    constexpr std::string_view kExtension = ".mdb";
    if (name.size() < 5 + kExtension.size() || !name.ends_with(kExtension)) return std::nullopt;
    std::uint32_t number = 0;
    const char* end = name.data() + name.size() - kExtension.size();
    const auto [stop, error] = std::from_chars(name.data(), end, number);
    if (error != std::errc{} || stop != end || fmt::format("{:05}{}", number, kExtension) != name)
        return std::nullopt;
    return number;
}

std::filesystem::path lock_file_of(std::filesystem::path path) {
    return path += "-lock";
}

std::size_t fresh_page_size() {
    // As LMDB chooses for a new file.
    return std::min<std::size_t>(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), 0x8000);
}

}  // namespace

Result<std::unique_ptr<BlobSegments>> BlobSegments::open(BlobSegmentsOptions options) {
    std::unique_ptr<BlobSegments> segments(new BlobSegments(std::move(options)));
    const auto& directory = segments->options_.directory;
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error) return fail(Errc::io, fmt::format("{}: {}", directory.native(), error.message()));
    segments->fill_ = SegmentFill(fresh_page_size(), segments->options_.segment_bytes, kFreshPages);
    if (auto scanned = segments->scan_directory(); !scanned) return forward_error(scanned);
    if (auto opened = segments->open_last(); !opened) return forward_error(opened);
    if (auto checked = segments->check_referenced_end(); !checked) return forward_error(checked);
    return segments;
}

std::filesystem::path BlobSegments::path_of(std::uint32_t segment) const {
    return options_.directory / fmt::format("{:05}.mdb", segment);
}

int BlobSegments::fault(StoreFaults::Point point) const noexcept {
    return options_.faults != nullptr ? options_.faults->at(point) : 0;
}

Result<void> BlobSegments::scan_directory() {
    std::error_code error;
    std::map<std::uint32_t, std::uint64_t> found;
    for (std::filesystem::directory_iterator entry(options_.directory, error), end; !error && entry != end;
         entry.increment(error)) {
        if (const auto number = parse_name(entry->path().filename().native()))
            found[*number] = entry->file_size(error);
    }
    if (error) return fail(Errc::io, fmt::format("{}: {}", options_.directory.native(), error.message()));
    const MutexLock lock(mutex_);
    file_bytes_ = std::move(found);
    return {};
}

Result<void> BlobSegments::open_last() {
    for (;;) {
        std::uint32_t number = 0;
        {
            const MutexLock lock(mutex_);
            if (file_bytes_.empty()) return {};
            number = file_bytes_.rbegin()->first;
        }
        auto writer =
            Segment::open_writer(path_of(number), options_.segment_bytes, options_.lock, options_.janitor);
        const BlobEnd& known = options_.referenced_end;
        const bool referenced = number < known.segment || (number == known.segment && known.number > 0);
        if (!writer && writer.error().code == Errc::corrupt && !referenced) {
            // The machine stopped after the file was made and before its first commit had reached the disk.
            options_.log.warning("{}; nothing refers to it, it is made anew", writer.error().context);
            std::error_code ignored;
            std::filesystem::remove(path_of(number), ignored);
            std::filesystem::remove(lock_file_of(path_of(number)), ignored);
            const MutexLock lock(mutex_);
            file_bytes_.erase(number);
            continue;
        }
        if (!writer) return forward_error(writer);
        auto committer = Committer::open(path_of(number));
        if (!committer) return forward_error(committer);
        auto next = (*writer)->next_number();
        if (!next) return forward_error(next);
        committer_ = std::move(*committer);
        next_ = {number, *next};
        const lmdb::EnvRef env = (*writer)->env();
        fill_ = SegmentFill(env.page_size(), env.map_bytes(), env.last_page() + 1);
        const MutexLock lock(mutex_);
        writer_ = std::move(*writer);
        for (const auto& [sealed, size] : file_bytes_) {
            std::error_code ignored;
            if (sealed != number) std::filesystem::remove(lock_file_of(path_of(sealed)), ignored);
        }
        return {};
    }
}

Result<void> BlobSegments::check_referenced_end() const {
    const BlobEnd& known = options_.referenced_end;
    if (next_ >= known) return {};
    return fail(
        Errc::corrupt,
        fmt::format(
            "{}: the chain tables refer to blobs up to number {} of this segment, but the last there is is "
            "segment {} with {} blobs",
            path_of(known.segment).native(), known.number, next_.segment, next_.number));
}

bool BlobSegments::may_leave_rest() const noexcept {
    return writing_ahead_ && std::ranges::all_of(queue_, &Pending::derived);
}

BlobEnd BlobSegments::written_end() const noexcept {
    if (queue_.empty()) return next_;
    return {queue_.front().place.segment, queue_.front().place.number};
}

Result<BlobPlace> BlobSegments::append(SharedBytes bytes, bool derived) {
    const std::size_t size = bytes.size();
    const SegmentFill fresh(fresh_page_size(), options_.segment_bytes, kFreshPages);
    if (size > std::numeric_limits<std::uint32_t>::max() || !fresh.fits(size)) {
        return fail(Errc::limit, fmt::format("a blob of {} bytes does not fit a segment of {}", size,
                                             options_.segment_bytes));
    }
    if (!fill_.fits(size)) {
        next_ = {next_.segment + 1, 0};
        fill_ = fresh;
    }
    const BlobPlace place{next_.segment, next_.number, static_cast<std::uint32_t>(size)};
    fill_.add(size);
    ++next_.number;
    queue_.push_back({.place = place, .bytes = bytes, .derived = derived});
    const MutexLock lock(mutex_);
    pending_bytes_ += size;
    pending_.emplace(PlaceKey(place.segment, place.number), std::move(bytes));
    return place;
}

void BlobSegments::write_ahead() {
    if (writing_ahead_ || queue_.empty()) return;
    ahead_ = std::exchange(queue_, {});
    writing_ahead_ = side_.try_start([this] { ahead_outcome_ = write_batch(ahead_); });
    if (!writing_ahead_) queue_ = std::exchange(ahead_, {});
}

Result<void> BlobSegments::end_ahead() {
    if (!writing_ahead_) return {};
    side_.wait();
    writing_ahead_ = false;
    std::ranges::move(queue_, std::back_inserter(ahead_));
    queue_ = std::exchange(ahead_, {});
    return std::exchange(ahead_outcome_, Result<void>());
}

Result<void> BlobSegments::commit() {
    if (auto ended = end_ahead(); !ended) return ended;
    if (auto written = write_batch(queue_); !written) return written;
    measure_fill();
    return {};
}

Result<void> BlobSegments::write_batch(Batch& batch) {
    while (!batch.empty()) {
        const std::uint32_t number = batch.front().place.segment;
        const auto end =
            std::ranges::find_if(batch, [&](const Pending& p) { return p.place.segment != number; });
        const auto count = static_cast<std::size_t>(end - batch.begin());
        if (auto written = write_segment(number, batch, count); !written) return written;
        forget_pending(batch, count);
    }
    return {};
}

/// Takes what the last commit says in place of what was foreseen. Requires: nothing is pending.
void BlobSegments::measure_fill() {
    std::shared_ptr<Segment> writer;
    {
        const MutexLock lock(mutex_);
        writer = writer_;
    }
    if (!writer || writer->path() != path_of(next_.segment)) return;
    const lmdb::EnvRef env = writer->env();
    fill_ = SegmentFill(env.page_size(), env.map_bytes(), env.last_page() + 1);
}

Result<void> BlobSegments::write_segment(std::uint32_t number, const Batch& batch, std::size_t count) {
    std::shared_ptr<Segment> writer;
    {
        const MutexLock lock(mutex_);
        writer = writer_;
    }
    if (!writer || writer->path() != path_of(number)) {
        if (writer) seal_writer();
        auto made = make_writer(number);
        if (!made) return forward_error(made);
        writer = std::move(*made);
    }
    auto [code, txn] = lmdb::Txn::begin(writer->env(), 0);
    for (std::size_t i = 0; code == 0 && i < count; ++i) {
        code = fault(StoreFaults::Point::segment_put);
        if (code != 0) break;
        const Pending& blob = batch[i];
        code = txn.put(writer->table(), encode_index_key(blob.place.number), blob.bytes.bytes(), MDB_APPEND);
    }
    if (code != 0) return std::unexpected(lmdb::make_error(code, writer->path().native()));
    auto committed =
        committer_->commit(std::move(txn), writer->env(), options_.faults,
                           {StoreFaults::Point::segment_commit, StoreFaults::Point::segment_sync});
    if (!committed) return committed;
    {
        const MutexLock lock(mutex_);
        file_bytes_[number] = (writer->env().last_page() + 1) * writer->env().page_size();
    }
    return names_dirty_ ? sync_names() : Result<void>{};
}

Result<std::shared_ptr<Segment>> BlobSegments::make_writer(std::uint32_t number) {
    const auto path = path_of(number);
    auto writer = Segment::open_writer(path, options_.segment_bytes, options_.lock, options_.janitor);
    auto committer = writer ? Committer::open(path) : Result<Committer>(std::unexpected(writer.error()));
    if (!committer) {
        // No room for the meta pages, say. What there is of the file must not be in the way of the next
        // attempt.
        writer = std::unexpected(committer.error());
        std::error_code ignored;
        std::filesystem::remove(path, ignored);
        std::filesystem::remove(lock_file_of(path), ignored);
        return writer;
    }
    committer_ = std::move(*committer);
    names_dirty_ = true;
    options_.log.debug("{}: begun", path.native());
    const MutexLock lock(mutex_);
    writer_ = *writer;
    file_bytes_[number] = 0;
    return writer;
}

void BlobSegments::seal_writer() {
    std::shared_ptr<Segment> writer;
    {
        const MutexLock lock(mutex_);
        writer.swap(writer_);
    }
    committer_.reset();
    options_.log.debug("{}: full, and sealed", writer->path().native());
    // Readers open the file without locks from now on; views keep this environment as long as they need it.
    std::error_code ignored;
    std::filesystem::remove(lock_file_of(writer->path()), ignored);
}

Result<void> BlobSegments::sync_names() {
    int code = fault(StoreFaults::Point::segment_sync);
    if (code == 0) code = sync_directory(options_.directory);
    if (code != 0) {
        return fail(Errc::outcome_unknown,
                    fmt::format("{}: syncing the directory failed ({}); writing has stopped",
                                options_.directory.native(), std::strerror(code)));
    }
    names_dirty_ = false;
    return {};
}

std::map<std::uint32_t, std::uint64_t> BlobSegments::sealed() const {
    const MutexLock lock(mutex_);
    auto files = file_bytes_;
    // The last file is the writer's, or will be, when blobs that are still in memory have begun the next one.
    if (!files.empty()) files.erase(std::prev(files.end()));
    return files;
}

Result<void> BlobSegments::remove(std::span<const std::uint32_t> segments) {
    Result<void> outcome;
    for (const std::uint32_t number : segments) {
        if (auto removed = remove_file(number); !removed && outcome) outcome = std::move(removed);
    }
    // Else a power cut could bring files back that nobody would look for any more.
    if (const int code = sync_directory(options_.directory); code != 0 && outcome) {
        outcome =
            fail(Errc::io, fmt::format("syncing {}: {}", options_.directory.native(), std::strerror(code)));
    }
    return outcome;
}

Result<void> BlobSegments::remove_file(std::uint32_t number) {
    std::shared_ptr<Segment> closed;  // goes after the lock
    {
        const MutexLock lock(mutex_);
        BLOCKPUB_CHECK(!writer_ || writer_->path() != path_of(number), "segment {} is being written", number);
        file_bytes_.erase(number);
        if (const auto found = sealed_.find(number); found != sealed_.end()) {
            closed = std::move(found->second.segment);
            recently_used_.erase(found->second.position);
            sealed_.erase(found);
        }
    }
    const auto path = path_of(number);
    std::error_code error;
    std::filesystem::remove(lock_file_of(path), error);
    std::filesystem::remove(path, error);
    if (!error) return {};
    // It is still there, and counts.
    std::error_code ignored;
    const auto size = std::filesystem::file_size(path, ignored);
    const MutexLock lock(mutex_);
    file_bytes_[number] = ignored ? 0 : size;
    return fail(Errc::io, fmt::format("removing {}: {}", path.native(), error.message()));
}

void BlobSegments::forget_pending(Batch& batch, std::size_t count) {
    const MutexLock lock(mutex_);
    for (std::size_t i = 0; i < count; ++i) {
        const Pending& blob = batch.front();
        pending_bytes_ -= blob.bytes.size();
        pending_.erase(PlaceKey(blob.place.segment, blob.place.number));
        batch.pop_front();
    }
}

Result<std::optional<SharedBytes>> BlobSegments::find_pending(const BlobPlace& place) const {
    std::optional<SharedBytes> bytes;
    {
        const MutexLock lock(mutex_);
        const auto found = pending_.find(PlaceKey(place.segment, place.number));
        if (found != pending_.end()) bytes = found->second;
    }
    if (bytes && bytes->size() != place.size) {
        return fail(Errc::corrupt, fmt::format("blob {} of {} has {} bytes, its place says {}", place.number,
                                               path_of(place.segment).native(), bytes->size(), place.size));
    }
    return bytes;
}

Result<std::shared_ptr<Segment>> BlobSegments::segment_of(std::uint32_t number) {
    {
        const MutexLock lock(mutex_);
        if (writer_ && writer_->path() == path_of(number)) return writer_;
        if (const auto found = sealed_.find(number); found != sealed_.end()) {
            recently_used_.splice(recently_used_.begin(), recently_used_, found->second.position);
            return found->second.segment;
        }
    }
    auto opened = Segment::open_sealed(path_of(number), options_.janitor);
    if (!opened) return opened;
    std::shared_ptr<Segment> evicted;  // goes after the lock
    const MutexLock lock(mutex_);
    // Removed since: good for this read, and kept by nobody else, so that the disk is given back.
    if (!file_bytes_.contains(number)) return opened;
    // Two readers may have opened it at a time; the first one's is kept.
    const auto [place, inserted] = sealed_.try_emplace(number);
    if (inserted) {
        recently_used_.push_front(number);
        place->second = {*opened, recently_used_.begin()};
        if (sealed_.size() > std::max<std::size_t>(options_.open_segments, 1)) {
            const auto oldest = sealed_.find(recently_used_.back());
            evicted = std::move(oldest->second.segment);
            sealed_.erase(oldest);
            recently_used_.pop_back();
        }
        return opened;
    }
    return place->second.segment;
}

void BlobSegments::retire_writer(const std::shared_ptr<Segment>& segment) {
    std::shared_ptr<Segment> retired;
    const MutexLock lock(mutex_);
    if (writer_ == segment) retired.swap(writer_);
}

template <class T, class Access>
Result<T> BlobSegments::with_segment(const BlobPlace& place, Access access) {
    for (bool again = false;; again = true) {
        auto segment = segment_of(place.segment);
        if (!segment) return forward_error(segment);
        Result<T> result = access(*segment, place);
        if (result || result.error().code != Errc::outcome_unknown || again) return result;
        // The writer's environment is in MDB_PANIC, and writing has stopped: read the file without it.
        retire_writer(*segment);
    }
}

Result<SharedBytes> BlobSegments::read(const BlobPlace& place) {
    auto pending = find_pending(place);
    if (!pending) return forward_error(pending);
    if (*pending) return **std::move(pending);
    return with_segment<SharedBytes>(place, Segment::read);
}

Result<MappedBytes> BlobSegments::map(const BlobPlace& place) {
    auto pending = find_pending(place);
    if (!pending) return forward_error(pending);
    if (*pending) {
        auto held = std::make_shared<const SharedBytes>(**std::move(pending));
        const ByteSpan view = held->bytes();
        return MappedBytes(view, std::move(held), MappedBytes::Place::heap);
    }
    return with_segment<MappedBytes>(place, Segment::map);
}

BlobSegments::Counters BlobSegments::counters() const {
    const MutexLock lock(mutex_);
    Counters counters;
    counters.segments = file_bytes_.size();
    counters.open_segments = sealed_.size() + (writer_ ? 1 : 0);
    for (const auto& [number, bytes] : file_bytes_) counters.bytes_on_disk += bytes;
    counters.pending_bytes = pending_bytes_;
    return counters;
}

}  // namespace blockpub
