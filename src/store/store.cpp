// SPDX-License-Identifier: MIT
#include "base/check.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "store/blob_segments.hpp"
#include "store/block_lookup.hpp"
#include "store/chain_tables.hpp"
#include "store/disk_space.hpp"
#include "store/snapshot.hpp"

#include <blockpub/store.hpp>

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace blockpub {
namespace {

constexpr std::uint64_t kSmallestSegment = std::uint64_t{16} << 20;
constexpr std::uint64_t kLargestSegment = std::uint64_t{4} << 30;
/// Copying so many bytes takes longer than the syncs of a transaction more.
constexpr std::uint64_t kWorthWritingAhead = std::uint64_t{256} << 10;

/// Whether no blob was ever committed below `directory`.
bool is_fresh(const std::filesystem::path& directory) {
    std::error_code error;
    std::filesystem::directory_iterator entry(directory / "blocks", error);
    return error || entry == std::filesystem::directory_iterator();
}

/// The store on LMDB: joins the segments, the chain tables and the layers.
class LmdbStore final : public Store {
 public:
    LmdbStore(StoreOptions options, std::shared_ptr<Janitor> janitor, std::unique_ptr<ChainTables> tables,
              std::unique_ptr<BlobSegments> segments, LayerStack stack, EventIndex next_event)
        : options_(std::move(options)),
          log_(options_.logger, LogCategory::store),
          janitor_(std::move(janitor)),
          tables_(std::move(tables)),
          segments_(std::move(segments)),
          blocks_(*this),
          next_event_(next_event),
          cell_(std::make_shared<const LayerStack>(std::move(stack))),
          durable_events_(next_event) {}

    ~LmdbStore() override {
        segments_.reset();
        tables_.reset();
        janitor_->stop();
    }

    Result<Snapshot> snapshot() const override;
    Result<SharedBytes> read_blob(const BlobPlace& place) const override { return segments_->read(place); }
    Result<MappedBytes> map_blob(const BlobPlace& place) const override { return segments_->map(place); }
    BlockReader& block_reader() override { return blocks_; }
    StoreStatus status() const override;
    Result<std::vector<EventRecord>> read_events(EventIndex first, std::size_t limit) override;

    Result<BlobPlace> append_blob(SharedBytes bytes) override;
    Result<BlobPlace> append_derived(SharedBytes bytes) override;
    void write_ahead() override;
    void apply(StoreChanges changes) override;
    Result<void> commit() override { return commit_layers(false); }
    Result<void> commit_step() override { return commit_layers(true); }
    std::uint64_t pending_bytes() const override;
    std::vector<SealedSegment> sealed_segments() const override;
    Result<void> remove_segments(std::span<const std::uint32_t> numbers) override {
        return segments_->remove(numbers);
    }
    Result<void> scan_headers(
        const std::function<Result<void>(const BlockHash&, const HeaderRecord&)>& visit) const override;
    Result<void> scan_meta(
        std::string_view prefix,
        const std::function<Result<void>(std::string_view, std::string_view)>& visit) const override;

 private:
    [[nodiscard]] Result<BlobPlace> append(SharedBytes bytes, bool derived) BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] Result<void> commit_layers(bool rest_may_wait) BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] Result<void> write_all(const std::shared_ptr<const Layer>& layer, bool rest_may_wait);
    void drop_written_layers(std::uint64_t base_txnid, const std::shared_ptr<const Layer>& left);
    void note_failure(const Error& error) BLOCKPUB_EXCLUDES(mutex_);

    const StoreOptions options_;
    const Log log_;
    const std::shared_ptr<Janitor> janitor_;
    std::unique_ptr<ChainTables> tables_;
    std::unique_ptr<BlobSegments> segments_;
    BlockLookup blocks_;

    // Only on the writer's thread.
    EventIndex next_event_;

    // Internally synchronised.
    SnapshotCell<LayerStack> cell_;
    std::atomic<EventIndex> durable_events_;
    std::atomic<std::uint64_t> layer_bytes_{0};

    mutable Mutex mutex_;
    std::uint64_t commits_ BLOCKPUB_GUARDED_BY(mutex_) = 0;
    std::uint64_t failed_commits_ BLOCKPUB_GUARDED_BY(mutex_) = 0;
    std::string last_error_ BLOCKPUB_GUARDED_BY(mutex_);
    std::optional<Error> stopped_by_ BLOCKPUB_GUARDED_BY(mutex_);
};

Result<Snapshot> LmdbStore::snapshot() const {
    auto impl = Snapshot::Impl::take(*tables_, cell_);
    if (!impl) return forward_error(impl);
    return Snapshot(std::move(*impl));
}

StoreStatus LmdbStore::status() const {
    const auto counters = segments_->counters();
    StoreStatus status;
    status.segments = counters.segments;
    status.open_segments = counters.open_segments;
    status.blob_bytes_on_disk = counters.bytes_on_disk;
    status.pending_bytes = pending_bytes();
    blocks_.add_failures(status);
    const MutexLock lock(mutex_);
    status.commits = commits_;
    status.failed_commits = failed_commits_;
    status.write_stopped = stopped_by_.has_value();
    status.last_error = last_error_;
    return status;
}

Result<std::vector<EventRecord>> LmdbStore::read_events(EventIndex first, std::size_t limit) {
    // Read before the transaction is begun, so that it holds all of them.
    const EventIndex end = durable_events_.load(std::memory_order_acquire);
    auto reading = tables_->begin_read();
    if (!reading) return forward_error(reading);
    auto records = read_event_table(*reading, first, end, limit);
    reading->env->end_read(std::move(reading->txn));
    return records;
}

Result<BlobPlace> LmdbStore::append_blob(SharedBytes bytes) {
    return append(std::move(bytes), false);
}

Result<BlobPlace> LmdbStore::append_derived(SharedBytes bytes) {
    return append(std::move(bytes), true);
}

Result<BlobPlace> LmdbStore::append(SharedBytes bytes, bool derived) {
    {
        const MutexLock lock(mutex_);
        if (stopped_by_) return std::unexpected(*stopped_by_);
    }
    return segments_->append(std::move(bytes), derived);
}

void LmdbStore::write_ahead() {
    const std::uint64_t bytes = segments_->counters().pending_bytes;
    if (bytes < kWorthWritingAhead) return;
    {
        const MutexLock lock(mutex_);
        if (stopped_by_) return;
    }
    // Where there is no room the commit says so.
    if (check_free_disk(options_.directory, bytes, options_.min_free_disk, options_.faults))
        segments_->write_ahead();
}

void LmdbStore::apply(StoreChanges changes) {
    for (const EventRecord& event : changes.events) {
        BLOCKPUB_CHECK(event.index == next_event_, "event {} where {} is next", event.index, next_event_);
        ++next_event_;
    }
    for (const auto& [key, value] : changes.meta) {
        BLOCKPUB_CHECK(!key.empty() && key.front() != '.' && key.size() <= 511, "meta key \"{}\"", key);
    }
    Layer layer = Layer::from_changes(std::move(changes));
    if (layer.records == 0) return;
    layer_bytes_.fetch_add(layer.bytes, std::memory_order_relaxed);
    cell_.store(std::make_shared<const LayerStack>(cell_.load()->with(std::move(layer))));
}

std::uint64_t LmdbStore::pending_bytes() const {
    return layer_bytes_.load(std::memory_order_relaxed) + segments_->counters().pending_bytes;
}

std::vector<Store::SealedSegment> LmdbStore::sealed_segments() const {
    std::vector<SealedSegment> rows;
    for (const auto& [number, bytes] : segments_->sealed()) rows.push_back({number, bytes});
    return rows;
}

Result<void> LmdbStore::commit_layers(bool rest_may_wait) {
    {
        const MutexLock lock(mutex_);
        if (stopped_by_) return std::unexpected(*stopped_by_);
    }
    const auto layer = cell_.load()->merged();
    if (!layer && segments_->counters().pending_bytes == 0) return {};
    const auto began = std::chrono::steady_clock::now();
    const std::uint64_t bytes = pending_bytes();
    auto written = write_all(layer, rest_may_wait);
    log_.debug("commit of {} records, {} bytes with the blocks: {} after {} ms", layer ? layer->records : 0,
               bytes, written ? std::string("done") : written.error().context,
               std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began)
                   .count());
    if (!written) {
        note_failure(written.error());
        return written;
    }
    const MutexLock lock(mutex_);
    ++commits_;
    return {};
}

Result<void> LmdbStore::write_all(const std::shared_ptr<const Layer>& layer, bool rest_may_wait) {
    if (auto checked =
            check_free_disk(options_.directory, pending_bytes(), options_.min_free_disk, options_.faults);
        !checked)
        return checked;
    // The blobs first: the chain tables never name a place that is not on the disk.
    const bool ahead_alone = rest_may_wait && segments_->may_leave_rest();
    if (auto written = ahead_alone ? segments_->commit_ahead() : segments_->commit(); !written)
        return written;
    if (!layer) return {};
    const BlobEnd end = segments_->written_end();
    const SplitLayer split =
        ahead_alone ? split_layer(layer, end) : SplitLayer{.written = layer, .left = nullptr};
    const auto written = tables_->write(*split.written, end);
    if (!written) return std::unexpected(written.error());
    drop_written_layers(*written, split.left);
    return {};
}

void LmdbStore::drop_written_layers(std::uint64_t base_txnid, const std::shared_ptr<const Layer>& left) {
    LayerStack stack{.base_txnid = base_txnid, .layers = {}};
    if (left) stack.layers.push_back(left);
    cell_.store(std::make_shared<const LayerStack>(std::move(stack)));
    layer_bytes_.store(left ? left->bytes : 0, std::memory_order_relaxed);
    durable_events_.store(next_event_, std::memory_order_release);
}

void LmdbStore::note_failure(const Error& error) {
    const MutexLock lock(mutex_);
    ++failed_commits_;
    last_error_ = error.context;
    if (error.code == Errc::outcome_unknown) stopped_by_ = error;
}

Result<void> LmdbStore::scan_headers(
    const std::function<Result<void>(const BlockHash&, const HeaderRecord&)>& visit) const {
    auto snapshot = Snapshot::Impl::take(*tables_, cell_);
    if (!snapshot) return forward_error(snapshot);
    auto scanned = (*snapshot)->scan_headers(visit);
    if (!scanned && scanned.error().code == Errc::corrupt) {
        return fail(Errc::corrupt, fmt::format("{}: {}", (options_.directory / "chain" / "data.mdb").native(),
                                               scanned.error().context));
    }
    return scanned;
}

Result<void> LmdbStore::scan_meta(
    std::string_view prefix,
    const std::function<Result<void>(std::string_view, std::string_view)>& visit) const {
    auto snapshot = Snapshot::Impl::take(*tables_, cell_);
    if (!snapshot) return forward_error(snapshot);
    return (*snapshot)->scan_meta(prefix, visit);
}

}  // namespace

Result<std::unique_ptr<Store>> Store::open(StoreOptions options) {
    if (options.segment_bytes < kSmallestSegment || options.segment_bytes > kLargestSegment) {
        return fail(Errc::invalid_argument,
                    fmt::format("a segment of {} bytes; it may have 16 MiB to 4 GiB", options.segment_bytes));
    }
    std::error_code error;
    std::filesystem::create_directories(options.directory, error);
    if (error) return fail(Errc::io, fmt::format("{}: {}", options.directory.native(), error.message()));
    auto lock = DirectoryLock::acquire(options.directory);
    if (!lock) return forward_error(lock);
    auto tables = ChainTables::open({.directory = options.directory / "chain",
                                     .map_bytes = options.map_bytes,
                                     .network = {options.network_magic, options.genesis_hash},
                                     .fresh = is_fresh(options.directory),
                                     .lock = *lock,
                                     .faults = options.faults});
    if (!tables) return forward_error(tables);
    auto referenced_end = (*tables)->blob_end();
    if (!referenced_end) return forward_error(referenced_end);
    auto janitor = std::make_shared<Janitor>();
    auto segments = BlobSegments::open({.directory = options.directory / "blocks",
                                        .segment_bytes = options.segment_bytes,
                                        .open_segments = options.open_segments,
                                        .referenced_end = *referenced_end,
                                        .lock = *lock,
                                        .janitor = janitor,
                                        .faults = options.faults,
                                        .log = Log(options.logger, LogCategory::store)});
    if (!segments) return forward_error(segments);
    auto reading = (*tables)->begin_read();
    if (!reading) return forward_error(reading);
    LayerStack stack;
    stack.base_txnid = reading->txn.id();
    auto next_event = next_event_of_table(*reading);
    reading->env->end_read(std::move(reading->txn));
    if (!next_event) return forward_error(next_event);
    return std::make_unique<LmdbStore>(std::move(options), std::move(janitor), std::move(*tables),
                                       std::move(*segments), std::move(stack), *next_event);
}

}  // namespace blockpub
