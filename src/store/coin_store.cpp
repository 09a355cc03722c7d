// SPDX-License-Identifier: MIT
#include "store/coin_store.hpp"

#include "base/log.hpp"
#include "base/mutex.hpp"
#include "base/thread.hpp"
#include "store/coin_layer.hpp"
#include "store/coin_memtable.hpp"
#include "store/coin_scan.hpp"
#include "store/coin_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <set>
#include <utility>

namespace blockpub {
namespace {

/// What readers see: the newest published step, and where its coins lie.
struct CoinState {
    StepNumber step = 0;
    Tip tip;
    CoinLayers layers;  ///< what `active` need not have yet
    std::shared_ptr<CoinMemtable> active;
    std::shared_ptr<const CoinMemtable> frozen;  ///< being written; null when nothing is
    std::uint64_t base_txnid = 0;  ///< read transactions with a lower number lack what was flushed
};

/// So many steps are kept as they came: several blocks in a row find no time to put them elsewhere.
constexpr std::size_t kKeptLayers = 8;

/// Looks through the layers and both generations. Nothing: none knows the outpoint, and the table decides.
std::optional<CoinMemtable::Found> find_in_memory(const CoinLayers& layers, const CoinState& state,
                                                  const Outpoint& outpoint, StepNumber step) {
    for (std::size_t i = layers.size(); i-- > 0;) {
        if (const CoinChange* const change = layers[i]->find(outpoint))
            return CoinMemtable::Found(change->coin);
    }
    if (auto found = state.active->find(outpoint, step)) return found;
    if (state.frozen) return state.frozen->find(outpoint, step);
    return std::nullopt;
}

}  // namespace

/// The steps that snapshots hold, so that their values are kept.
class ReaderSteps {
 public:
    void add(StepNumber step) BLOCKPUB_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        steps_.insert(step);
    }
    void remove(StepNumber step) BLOCKPUB_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        steps_.erase(steps_.find(step));
    }
    [[nodiscard]] StepNumber oldest_or(StepNumber step) const BLOCKPUB_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        return steps_.empty() ? step : std::min(step, *steps_.begin());
    }

 private:
    mutable Mutex mutex_;
    std::multiset<StepNumber> steps_ BLOCKPUB_GUARDED_BY(mutex_);
};

struct CoinSnapshot::Impl {
    CoinState state;
    CoinTable* table;
    ReaderSteps* readers;
    CoinTable::Reading reading;

    Impl(CoinState s, CoinTable& t, ReaderSteps& r, CoinTable::Reading x)
        : state(std::move(s)), table(&t), readers(&r), reading(std::move(x)) {}
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl() {
        reading.env->end_read(std::move(reading.txn));
        readers->remove(state.step);
    }
};

namespace {

class CoinStoreImpl final : public CoinStore {
 public:
    CoinStoreImpl(const CoinStoreOptions& options, std::unique_ptr<CoinTable> table,
                  std::optional<Tip> flushed, std::uint64_t base_txnid, CoinTable::Reading writer_reading)
        : options_(options),
          log_(options.logger, LogCategory::store),
          table_(std::move(table)),
          writer_reading_(std::move(writer_reading)),
          writer_txnid_(writer_reading_.txn.id()) {
        state_.active = std::make_shared<CoinMemtable>(memory_);
        state_.base_txnid = base_txnid;
        if (flushed) state_.tip = flushed_ = *flushed;
        thread_ = start_thread("coin-flusher", [this](const std::stop_token&) { run(); });
    }
    ~CoinStoreImpl() override { stop(); }

    [[nodiscard]] Result<CoinSnapshot> snapshot() const override;
    [[nodiscard]] CoinStoreStatus status() const override;
    [[nodiscard]] Result<void> available() const override;
    void withhold(std::string reason) override;
    [[nodiscard]] Result<Coin> find(const Outpoint& outpoint) const override;
    void apply(std::vector<CoinChange> changes) override;
    void publish(const Tip& tip) override;
    void committed() override;
    bool settle() override;
    [[nodiscard]] bool flush_due() const override;
    [[nodiscard]] Result<void> make_room() override;
    [[nodiscard]] Result<void> flush() override;
    void stop() override;

 private:
    void run();
    void flush_frozen(const std::shared_ptr<const CoinMemtable>& generation, const Tip& tip);
    void merge_oldest() BLOCKPUB_EXCLUDES(mutex_, merging_);
    [[nodiscard]] std::size_t kept_layers() const BLOCKPUB_EXCLUDES(mutex_);
    void begin_flush_if_due() BLOCKPUB_EXCLUDES(mutex_);
    void freeze_locked() BLOCKPUB_REQUIRES(mutex_);
    [[nodiscard]] bool flush_due_locked() const BLOCKPUB_REQUIRES(mutex_);
    [[nodiscard]] bool over_budget_locked() const BLOCKPUB_REQUIRES(mutex_);
    [[nodiscard]] Error stopped_error_locked() const BLOCKPUB_REQUIRES(mutex_);

    // Constant after construction.
    const CoinStoreOptions options_;
    const Log log_;
    const std::unique_ptr<CoinTable> table_;

    // Internally synchronised.
    std::atomic<std::uint64_t> memory_{0};
    mutable ReaderSteps readers_;

    /// Held while a layer goes into a generation: a flush for a caller may meet the writer at it.
    Mutex merging_;

    mutable Mutex withheld_mutex_;
    std::string withheld_ BLOCKPUB_GUARDED_BY(withheld_mutex_);

    mutable Mutex mutex_;
    CondVar changed_;
    CoinState state_ BLOCKPUB_GUARDED_BY(mutex_);
    CoinLayers layers_ BLOCKPUB_GUARDED_BY(mutex_);  // applied last, and not in a generation yet
    Tip frozen_tip_ BLOCKPUB_GUARDED_BY(mutex_);     // of state_.frozen
    Tip flushed_ BLOCKPUB_GUARDED_BY(mutex_);
    std::uint64_t flushes_ BLOCKPUB_GUARDED_BY(mutex_) = 0;
    std::uint64_t failed_flushes_ BLOCKPUB_GUARDED_BY(mutex_) = 0;
    StepNumber committed_ BLOCKPUB_GUARDED_BY(mutex_) = 0;
    bool failing_ BLOCKPUB_GUARDED_BY(mutex_) = false;
    bool hurry_ BLOCKPUB_GUARDED_BY(mutex_) = false;  // a caller waits: try again at once
    bool write_stopped_ BLOCKPUB_GUARDED_BY(mutex_) = false;
    bool stopping_ BLOCKPUB_GUARDED_BY(mutex_) = false;
    Error last_error_ BLOCKPUB_GUARDED_BY(mutex_);
    std::chrono::steady_clock::time_point last_flush_ BLOCKPUB_GUARDED_BY(mutex_) =
        std::chrono::steady_clock::now();

    // Only on the writer's thread.
    mutable CoinTable::Reading writer_reading_;
    mutable std::uint64_t writer_txnid_;

    std::jthread thread_;
};

Result<void> CoinStoreImpl::available() const {
    const MutexLock lock(withheld_mutex_);
    if (withheld_.empty()) return {};
    return fail(Errc::unavailable, withheld_);
}

void CoinStoreImpl::withhold(std::string reason) {
    const MutexLock lock(withheld_mutex_);
    withheld_ = std::move(reason);
}

Result<CoinSnapshot> CoinStoreImpl::snapshot() const {
    if (auto given = available(); !given) return forward_error(given);
    // The transaction first, then the state: what a flush dropped from memory is in every later transaction.
    auto reading = table_->begin_read();
    if (!reading) return forward_error(reading);
    while (true) {
        {
            const MutexLock lock(mutex_);
            if (reading->txn.id() >= state_.base_txnid) {
                readers_.add(state_.step);
                return CoinSnapshot(
                    std::make_unique<CoinSnapshot::Impl>(state_, *table_, readers_, std::move(*reading)));
            }
        }
        if (auto renewed = table_->renew(*reading); !renewed) return forward_error(renewed);
    }
}

CoinStoreStatus CoinStoreImpl::status() const {
    const MutexLock lock(mutex_);
    return {.flushed = flushed_,
            .tip = state_.tip,
            .bytes = memory_.load(std::memory_order_relaxed),
            .budget_bytes = options_.budget_bytes,
            .disk_bytes = table_->disk_bytes(),
            .flushes = flushes_,
            .failed_flushes = failed_flushes_,
            .flushing = state_.frozen != nullptr,
            .failing = failing_,
            .write_stopped = write_stopped_,
            .last_error = last_error_.context};
}

Result<Coin> CoinStoreImpl::find(const Outpoint& outpoint) const {
    std::uint64_t base_txnid = 0;
    {
        const MutexLock lock(mutex_);
        auto found = find_in_memory(layers_, state_, outpoint, std::numeric_limits<StepNumber>::max());
        if (found && *found) return std::move(**found);
        if (found) return fail(Errc::not_found, "spent");
        base_txnid = state_.base_txnid;
    }
    if (writer_txnid_ < base_txnid) {
        if (auto renewed = table_->renew(writer_reading_); !renewed) return forward_error(renewed);
        writer_txnid_ = writer_reading_.txn.id();
    }
    return table_->find(writer_reading_, outpoint);
}

void CoinStoreImpl::apply(std::vector<CoinChange> changes) {
    if (kept_layers() >= kKeptLayers) merge_oldest();
    StepNumber step = 0;
    {
        const MutexLock lock(mutex_);
        step = state_.step + 1;
    }
    auto layer = std::make_shared<const CoinLayer>(std::move(changes), step, memory_);
    const MutexLock lock(mutex_);
    layers_.push_back(std::move(layer));
}

/// Puts the oldest layer into the generation that grows. Readers may find its changes in either meanwhile.
void CoinStoreImpl::merge_oldest() {
    const MutexLock merging(merging_);
    std::shared_ptr<const CoinLayer> oldest;
    std::shared_ptr<CoinMemtable> active;
    StepNumber step = 0;
    {
        const MutexLock lock(mutex_);
        if (layers_.empty()) return;
        oldest = layers_.front();
        active = state_.active;
        step = state_.step;
    }
    for (const CoinChange& change : oldest->changes()) active->put(change, oldest->step());
    active->release_superseded(readers_.oldest_or(step));
    const MutexLock lock(mutex_);
    layers_.erase(layers_.begin());
    std::erase(state_.layers, oldest);
}

std::size_t CoinStoreImpl::kept_layers() const {
    const MutexLock lock(mutex_);
    return layers_.size();
}

void CoinStoreImpl::publish(const Tip& tip) {
    const MutexLock lock(mutex_);
    ++state_.step;
    state_.tip = tip;
    state_.layers = layers_;
}

bool CoinStoreImpl::over_budget_locked() const {
    return memory_.load(std::memory_order_relaxed) >= options_.budget_bytes && state_.frozen != nullptr;
}

void CoinStoreImpl::freeze_locked() {
    state_.frozen = std::move(state_.active);
    state_.active = std::make_shared<CoinMemtable>(memory_);
    frozen_tip_ = state_.tip;
    changed_.notify_all();
}

void CoinStoreImpl::committed() {
    {
        const MutexLock lock(mutex_);
        committed_ = state_.step;
    }
    begin_flush_if_due();
}

bool CoinStoreImpl::settle() {
    merge_oldest();
    begin_flush_if_due();
    return kept_layers() != 0;
}

void CoinStoreImpl::begin_flush_if_due() {
    if (!flush_due()) return;
    while (kept_layers() != 0) merge_oldest();
    const MutexLock lock(mutex_);
    freeze_locked();
}

bool CoinStoreImpl::flush_due() const {
    const MutexLock lock(mutex_);
    return flush_due_locked();
}

bool CoinStoreImpl::flush_due_locked() const {
    if (state_.frozen || write_stopped_ || (state_.active->empty() && layers_.empty())) return false;
    std::uint64_t bytes = state_.active->bytes();
    for (const auto& layer : layers_) bytes += layer->bytes();
    if (bytes >= options_.budget_bytes / 2) return true;
    return std::chrono::steady_clock::now() - last_flush_ >= options_.flush_interval;
}

Error CoinStoreImpl::stopped_error_locked() const {
    if (write_stopped_) return last_error_;
    return {Errc::stopped, "shutting down"};
}

Result<void> CoinStoreImpl::make_room() {
    const MutexLock lock(mutex_);
    while (over_budget_locked() && !write_stopped_ && !stopping_ && !failing_) changed_.wait(mutex_);
    if (write_stopped_ || stopping_) return std::unexpected(stopped_error_locked());
    if (over_budget_locked()) {
        return fail(Errc::disk_full,
                    fmt::format("the memory for changes of coins (-dbcache) is full, and they "
                                "cannot be written: {}",
                                last_error_.context));
    }
    return {};
}

Result<void> CoinStoreImpl::flush() {
    while (kept_layers() != 0) merge_oldest();
    const MutexLock lock(mutex_);
    if (committed_ != state_.step)
        return fail(Errc::unavailable, "there are changes of coins that the chain has not committed");
    const std::uint64_t failed_before = failed_flushes_;
    const Tip wanted = state_.tip;
    hurry_ = true;
    changed_.notify_all();
    while (!write_stopped_ && !stopping_ && failed_flushes_ == failed_before) {
        if (!state_.frozen) {
            if (flushed_ == wanted) {
                hurry_ = false;
                return {};
            }
            freeze_locked();
        }
        changed_.wait(mutex_);
    }
    hurry_ = false;
    if (write_stopped_ || stopping_) return std::unexpected(stopped_error_locked());
    return std::unexpected(last_error_);
}

void CoinStoreImpl::stop() {
    {
        const MutexLock lock(mutex_);
        stopping_ = true;
        changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
}

void CoinStoreImpl::run() {
    MutexLock lock(mutex_);
    while (!stopping_) {
        if (!state_.frozen || write_stopped_) {
            changed_.wait(mutex_);
            continue;
        }
        const auto generation = state_.frozen;
        const Tip tip = frozen_tip_;
        lock.unlock();
        flush_frozen(generation, tip);
        lock.lock();
    }
}

void CoinStoreImpl::flush_frozen(const std::shared_ptr<const CoinMemtable>& generation, const Tip& tip) {
    std::chrono::milliseconds pause = options_.retry_first;
    while (true) {
        const auto began = std::chrono::steady_clock::now();
        auto written = table_->write(*generation, tip);
        log_.debug(
            "coins: flush up to height {} {} after {} ms", tip.height.value, written ? "done" : "failed",
            std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began)
                .count());
        const MutexLock lock(mutex_);
        if (written) {
            if (failing_) log_.info("coins: written again, up to height {}", tip.height.value);
            failing_ = false;
            state_.frozen = nullptr;
            state_.base_txnid = *written;
            flushed_ = tip;
            ++flushes_;
            last_flush_ = std::chrono::steady_clock::now();
            changed_.notify_all();
            return;
        }
        last_error_ = std::move(written.error());
        write_stopped_ = last_error_.code == Errc::outcome_unknown;
        if (write_stopped_) {
            log_.error("coins: it is not known what of them is on disk, and writing has stopped: {}",
                       last_error_.context);
        } else if (!failing_) {
            log_.error("coins: cannot be written, they stay in memory until it works again: {}",
                       last_error_.context);
        }
        failing_ = true;
        ++failed_flushes_;
        changed_.notify_all();
        const auto deadline = std::chrono::steady_clock::now() + pause;
        while (!stopping_ && !hurry_ && !write_stopped_ && changed_.wait_until(mutex_, deadline)) {
        }
        if (stopping_ || write_stopped_) return;
        pause = std::min(pause * 2, options_.retry_longest);
    }
}

}  // namespace

CoinSnapshot::CoinSnapshot(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CoinSnapshot::CoinSnapshot(CoinSnapshot&&) noexcept = default;
CoinSnapshot& CoinSnapshot::operator=(CoinSnapshot&&) noexcept = default;
CoinSnapshot::~CoinSnapshot() = default;

const Tip& CoinSnapshot::tip() const {
    return impl_->state.tip;
}

Result<Coin> CoinSnapshot::find(const Outpoint& outpoint) const {
    const CoinState& state = impl_->state;
    auto found = find_in_memory(state.layers, state, outpoint, state.step);
    if (found && *found) return std::move(**found);
    if (found) return fail(Errc::not_found, "spent");
    return impl_->table->find(impl_->reading, outpoint);
}

Result<void> CoinSnapshot::scan(
    const std::function<Result<void>(const Outpoint&, const Coin&)>& visit) const {
    const CoinState& state = impl_->state;
    return scan_coins(impl_->reading, state.frozen.get(), *state.active, state.layers, state.step, {}, visit);
}

Result<void> CoinSnapshot::scan_part(
    std::size_t part, const std::function<Result<void>(const Outpoint&, const Coin&)>& visit) const {
    static_assert(kParts == CoinMemtable::kShards);
    const CoinState& state = impl_->state;
    return scan_coins(impl_->reading, state.frozen.get(), *state.active, state.layers, state.step,
                      {.first = part, .end = part + 1}, visit);
}

Result<std::unique_ptr<CoinStore>> CoinStore::open(CoinStoreOptions options) {
    auto table = CoinTable::open({.directory = options.directory / "coins",
                                  .map_bytes = options.map_bytes,
                                  .min_free_disk = options.min_free_disk,
                                  .faults = options.faults});
    if (!table) return forward_error(table);
    auto reading = (*table)->begin_read();
    if (!reading) return forward_error(reading);
    auto flushed = (*table)->tip(*reading);
    if (!flushed) return forward_error(flushed);
    const std::uint64_t base = reading->txn.id();
    return std::make_unique<CoinStoreImpl>(options, std::move(*table), *flushed, base, std::move(*reading));
}

}  // namespace blockpub
