// SPDX-License-Identifier: MIT
#include "chain/tx_index.hpp"

#include "base/log.hpp"
#include "base/thread.hpp"
#include "chain/facts.hpp"
#include "primitives/block.hpp"
#include "primitives/header.hpp"
#include "store/tx_table.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace blockpub {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Rows = std::vector<std::pair<Txid, BlockHash>>;

constexpr std::size_t kBatchRows = 100'000;
constexpr milliseconds kFirstPause{100};
constexpr milliseconds kLongestPause{10'000};
constexpr std::chrono::seconds kReportEvery{30};

/// Result: false, and nothing appended, when the facts are damaged.
bool append_facts(ByteSpan bytes, const BlockHash& hash, Rows& rows) {
    const auto facts = FactsView::open(bytes);
    if (!facts) return false;
    for (std::size_t i = 0; i < facts->count(); ++i) rows.emplace_back(Txid::from_wire(facts->txid(i)), hash);
    return true;
}

/// Appends the ids of a block's transactions: from its facts, or else from a parse.
Result<void> append_rows(const Store& store, const BlockHash& hash, const HeaderRecord& record, Rows& rows) {
    if (record.facts) {
        const auto bytes = store.read_blob(*record.facts);
        if (!bytes && bytes.error().code == Errc::io) return std::unexpected(bytes.error());
        if (bytes && append_facts(bytes->bytes(), hash, rows)) return {};
    }
    if (!record.block) return fail(Errc::unavailable, "block is not here");
    auto raw = store.read_blob(*record.block);
    if (!raw) return forward_error(raw);
    const auto block = ParsedBlock::parse(*std::move(raw));
    if (!block) return std::unexpected(block.error());
    for (const ParsedBlock::Entry& entry : block->transactions()) rows.emplace_back(entry.txid, hash);
    return {};
}

/// Reads what comes behind `from`, up to a batch. Genesis, whose coinbase nobody can ask for, is left out.
struct Batch {
    Rows rows;
    Tip best;
    bool at_tip = false;
};

Result<Batch> read_batch(const Store& store, const Tip& from, const std::stop_token& stop) {
    Batch batch{.rows = {}, .best = from};
    while (batch.rows.size() < kBatchRows && !stop.stop_requested()) {
        // A snapshot a block: none is held over a read of the disk.
        std::optional<BlockHash> hash;
        HeaderRecord record;
        {
            const auto snapshot = store.snapshot();
            if (!snapshot) return std::unexpected(snapshot.error());
            // Back to where the chain and the index agree.
            while (batch.best.height.value > 0) {
                const auto active = snapshot->active(batch.best.height);
                if (!active && active.error().code != Errc::not_found) return std::unexpected(active.error());
                if (active && *active == batch.best.hash) break;
                const auto left = snapshot->header(batch.best.hash);
                if (!left) return std::unexpected(left.error());
                batch.best = {.hash = BlockHeader::decode(left->header).previous,
                              .height = batch.best.height.previous()};
            }
            const auto next = snapshot->active(batch.best.height.next());
            if (!next && next.error().code != Errc::not_found) return std::unexpected(next.error());
            if (!next) {
                batch.at_tip = true;
                return batch;
            }
            hash = *next;
            auto found = snapshot->header(*hash);
            if (!found) return forward_error(found);
            record = *found;
        }
        auto appended = append_rows(store, *hash, record, batch.rows);
        // What has been pruned cannot be asked for either.
        if (!appended && appended.error().code != Errc::unavailable) return forward_error(appended);
        batch.best = {.hash = *hash, .height = record.height};
    }
    return batch;
}

}  // namespace

struct TxIndex::Impl final : EventHandler {
    Impl(const TxIndexOptions& options, std::unique_ptr<TxTable> t, const Tip& best)
        : store(*options.store), log(options.logger, LogCategory::store), table(std::move(t)) {
        shown.best = best;
    }

    void on_event(const Event& event) override {
        if (!std::holds_alternative<UpdatedBlockTip>(event)) return;
        const MutexLock lock(mutex);
        ++changes;
        changed.notify_all();
    }

    void follow(const std::stop_token& stop);
    /// One batch. Result: whether there is more to do at once.
    [[nodiscard]] Result<bool> step(const std::stop_token& stop);
    void report(bool finished);
    void pause(milliseconds length, const std::stop_token& stop);
    void wait_for_change(std::uint64_t seen, const std::stop_token& stop);
    [[nodiscard]] std::uint64_t seen_changes() const {
        const MutexLock lock(mutex);
        return changes;
    }
    [[nodiscard]] Status status() const {
        const MutexLock lock(mutex);
        return shown;
    }

    const Store& store;
    const Log log;
    const std::unique_ptr<TxTable> table;
    mutable Mutex mutex;
    CondVar changed;
    std::uint64_t changes BLOCKPUB_GUARDED_BY(mutex) = 0;
    Status shown BLOCKPUB_GUARDED_BY(mutex);
    steady_clock::time_point reported = steady_clock::now();  // only on the index's thread
    std::optional<Subscription> subscription;
    std::jthread thread;
};

void TxIndex::Impl::report(bool finished) {
    const Status now = status();
    if (finished) {
        log.info("txindex is at height {}, as the chain", now.best.height.value);
        return;
    }
    if (steady_clock::now() - reported < kReportEvery) return;
    reported = steady_clock::now();
    log.info("txindex is being made: height {} so far", now.best.height.value);
}

Result<bool> TxIndex::Impl::step(const std::stop_token& stop) {
    const Tip from = status().best;
    auto batch = read_batch(store, from, stop);
    if (!batch) return forward_error(batch);
    if (batch->best != from) {
        if (auto written = table->write(batch->rows, batch->best); !written) return forward_error(written);
    }
    bool just_synced = false;
    {
        const MutexLock lock(mutex);
        shown.best = batch->best;
        just_synced = batch->at_tip && !shown.synced;
        shown.synced = shown.synced || batch->at_tip;
    }
    report(just_synced);
    return !batch->at_tip;
}

void TxIndex::Impl::pause(milliseconds length, const std::stop_token& stop) {
    const auto until = steady_clock::now() + length;
    const MutexLock lock(mutex);
    while (!stop.stop_requested() && changed.wait_until(mutex, until)) {
    }
}

void TxIndex::Impl::wait_for_change(std::uint64_t seen, const std::stop_token& stop) {
    const MutexLock lock(mutex);
    while (changes == seen && !stop.stop_requested()) changed.wait(mutex);
}

void TxIndex::Impl::follow(const std::stop_token& stop) {
    milliseconds next_pause = kFirstPause;
    while (!stop.stop_requested()) {
        const std::uint64_t seen = seen_changes();
        const auto more = step(stop);
        if (!more) {
            log.error("txindex: {}", more.error().context);
            if (more.error().code == Errc::outcome_unknown) return;
            pause(next_pause, stop);
            next_pause = std::min(next_pause * 2, kLongestPause);
            continue;
        }
        next_pause = kFirstPause;
        if (!*more) wait_for_change(seen, stop);
    }
}

TxIndex::TxIndex(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

TxIndex::~TxIndex() {
    stop();
}

Result<std::unique_ptr<TxIndex>> TxIndex::start(const TxIndexOptions& options) {
    auto table = TxTable::open({.directory = options.directory / "txindex",
                                .map_bytes = options.map_bytes,
                                .min_free_disk = options.min_free_disk});
    if (!table) return forward_error(table);
    auto best = (*table)->best();
    if (!best) return forward_error(best);
    Tip from;
    if (*best) {
        from = **best;
    } else {
        const auto snapshot = options.store->snapshot();
        if (!snapshot) return std::unexpected(snapshot.error());
        const auto genesis = snapshot->active({0});
        if (!genesis) return std::unexpected(genesis.error());
        from.hash = *genesis;
    }
    auto impl = std::make_unique<Impl>(options, *std::move(table), from);
    impl->subscription.emplace(options.bus->subscribe("txindex-wake", *impl));
    impl->thread =
        start_thread("txindex", [raw = impl.get()](const std::stop_token& stop) { raw->follow(stop); });
    return std::unique_ptr<TxIndex>(new TxIndex(std::move(impl)));
}

Result<std::optional<BlockHash>> TxIndex::find(const Txid& txid) const {
    return impl_->table->find(txid);
}

TransactionIndex::Status TxIndex::status() const {
    return impl_->status();
}

void TxIndex::stop() {
    impl_->thread.request_stop();
    {
        const MutexLock lock(impl_->mutex);
        impl_->changed.notify_all();
    }
    if (impl_->thread.joinable()) impl_->thread.join();
    impl_->subscription.reset();
}

}  // namespace blockpub
