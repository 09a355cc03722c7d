// SPDX-License-Identifier: MIT
#include "chain/tx_index.hpp"

#include "base/log.hpp"
#include "base/thread.hpp"
#include "chain/facts.hpp"
#include "primitives/block.hpp"
#include "primitives/header.hpp"
#include "store/tx_table.hpp"

#include <fmt/format.h>

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

struct Batch {
    Rows rows;
    Tip best;
    bool more = true;  ///< there is more to read at once
};

/// Reads what comes behind `from` up to `durable`, or up to a batch. Genesis, whose coinbase nobody can ask
/// for, is left out.
Result<Batch> read_batch(const Store& store, const Tip& from, const Tip& durable,
                         const std::stop_token& stop) {
    Batch batch{.rows = {}, .best = from};
    while (batch.rows.size() < kBatchRows && !stop.stop_requested()) {
        // A snapshot a block: none is held over a read of the disk.
        std::optional<BlockHash> hash;
        HeaderRecord record;
        {
            const auto snapshot = store.snapshot();
            if (!snapshot) return std::unexpected(snapshot.error());
            // A step that leaves it may be lost in a crash, and what is behind it with that: its release is
            // waited for.
            const auto there = snapshot->active(durable.height);
            if (!there && there.error().code != Errc::not_found) return std::unexpected(there.error());
            if (!there || *there != durable.hash) {
                batch.more = false;
                return batch;
            }
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
            if (batch.best.height >= durable.height) {
                batch.more = false;
                return batch;
            }
            const auto next = snapshot->active(batch.best.height.next());
            if (!next) return std::unexpected(next.error());
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
    Impl(const TxIndexOptions& options, std::unique_ptr<TxTable> t)
        : store(*options.store), log(options.logger, LogCategory::store), table(std::move(t)) {}

    void on_event(const Event& event) override {
        const auto* const tip = std::get_if<UpdatedBlockTip>(&event);
        if (tip == nullptr) return;
        const MutexLock lock(mutex);
        durable = {.hash = tip->tip_hash, .height = tip->tip_height};
        ++changes;
        changed.notify_all();
    }

    /// Finds where the index stands, and the chain.
    [[nodiscard]] Result<void> begin(const std::filesystem::path& directory);
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
    Tip durable BLOCKPUB_GUARDED_BY(mutex);  // the tip that was released last: the index never passes it
    Status shown BLOCKPUB_GUARDED_BY(mutex);
    steady_clock::time_point reported = steady_clock::now();  // only on the index's thread
    std::optional<Subscription> subscription;
    std::jthread thread;
};

Result<void> TxIndex::Impl::begin(const std::filesystem::path& directory) {
    const auto best = table->best();
    if (!best) return std::unexpected(best.error());
    const auto snapshot = store.snapshot();
    if (!snapshot) return std::unexpected(snapshot.error());
    const auto tip = snapshot->tip();
    if (!tip) return std::unexpected(tip.error());
    const auto genesis = snapshot->active({0});
    if (!genesis) return std::unexpected(genesis.error());
    const Tip from = best->value_or(Tip{.hash = *genesis, .height = {0}});
    if (auto known = snapshot->header(from.hash); !known) {
        if (known.error().code != Errc::not_found) return forward_error(known);
        return fail(Errc::unsupported,
                    fmt::format("{}: made from another store, whose block {} is not in this one; remove the "
                                "directory txindex to have it made again",
                                directory.string(), from.hash.display_hex()));
    }
    const MutexLock lock(mutex);
    shown.best = from;
    if (changes == 0) durable = *tip;
    return {};
}

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
    Tip from;
    Tip until;
    {
        const MutexLock lock(mutex);
        from = shown.best;
        until = durable;
    }
    auto batch = read_batch(store, from, until, stop);
    if (!batch) return forward_error(batch);
    if (batch->best != from) {
        if (auto written = table->write(batch->rows, batch->best); !written) return forward_error(written);
    }
    bool just_synced = false;
    {
        const MutexLock lock(mutex);
        shown.best = batch->best;
        just_synced = shown.best == until && !shown.synced;
        shown.synced = shown.synced || just_synced;
    }
    report(just_synced);
    return batch->more;
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
    const std::filesystem::path directory = options.directory / "txindex";
    auto table = TxTable::open(
        {.directory = directory, .map_bytes = options.map_bytes, .min_free_disk = options.min_free_disk});
    if (!table) return forward_error(table);
    auto impl = std::make_unique<Impl>(options, *std::move(table));
    // Before the chain is looked at, so that no tip falls between the two.
    impl->subscription.emplace(options.bus->subscribe("txindex-wake", *impl));
    if (auto begun = impl->begin(directory); !begun) return forward_error(begun);
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
