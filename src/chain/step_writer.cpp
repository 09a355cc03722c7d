// SPDX-License-Identifier: MIT
#include "chain/step_writer.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

namespace blockpub {
namespace {

/// Longest time that events of an import are held back to share a commit.
constexpr std::chrono::milliseconds kLongestHold{500};

}  // namespace

StepWriter::StepWriter(const ChainOptions& options, RetryWait& wait, ChainMonitor& monitor,
                       EventIndex durable)
    : store_(*options.store),
      bus_(*options.bus),
      cache_(options.cache),
      wait_(wait),
      monitor_(monitor),
      log_(options.logger, LogCategory::chain),
      bulk_bytes_(options.bulk_commit_bytes),
      retry_times_{options.commit_retry_first, options.commit_retry_longest},
      durable_(durable) {
    monitor_.set_durable(durable_);
}

void StepWriter::add(StepChanges::Taken changes) {
    if (!applied_) oldest_ = std::chrono::steady_clock::now();
    applied_ = true;
    std::vector<BlockHash> gone;
    for (const auto& [hash, record] : changes.store.headers) {
        if (!record.block || (record.status & HeaderRecord::kPruned) != 0) gone.push_back(hash);
    }
    store_.apply(std::move(changes.store));
    cache(changes.cached, gone);
    std::ranges::move(changes.releases, std::back_inserter(releases_));
}

/// After the changes are shown, so that what is in the cache is what the store says.
void StepWriter::cache(const std::vector<BlockCache::Item>& parts, const std::vector<BlockHash>& gone) {
    if (cache_ == nullptr) return;
    cache_->forget(gone);
    if (!parts.empty()) cache_->insert(parts);
}

void StepWriter::release_mempool(std::vector<MempoolEvent> events) {
    for (MempoolEvent& event : events)
        std::visit([&](auto& one) { releases_.emplace_back(std::move(one)); }, event);
    if (!applied_) release();
}

bool StepWriter::dirty() const {
    return applied_ || store_.pending_bytes() != 0;
}

bool StepWriter::commit_due() const {
    if (store_.pending_bytes() >= bulk_bytes_) return true;
    return applied_ && std::chrono::steady_clock::now() >= commit_deadline();
}

std::chrono::steady_clock::time_point StepWriter::commit_deadline() const {
    return oldest_ + kLongestHold;
}

Result<void> StepWriter::commit_by(Result<void> (Store::*write)()) {
    if (!dirty()) return {};
    RetryTimes times = retry_times_;
    unsigned failures = 0;
    auto committed = (store_.*write)();
    while (!committed) {
        const Error& error = committed.error();
        if (error.code == Errc::outcome_unknown) {
            log_.error("the store cannot tell what is on disk: {}; nothing more is written or announced",
                       error.context);
            monitor_.set_write_stopped(error.context);
            return committed;
        }
        monitor_.set_write_error(error.context);
        if (++failures == 1)
            log_.error("cannot commit: {}; nothing is announced until it works again", error.context);
        const bool goes_on = wait_.wait(times.take());
        committed = (store_.*write)();
        if (!committed && !goes_on) return committed;
    }
    if (failures != 0) {
        monitor_.set_write_error({});
        log_.info("committed after {} failed attempts", failures);
    }
    applied_ = false;
    release();
    // What the new blocks pushed out is freed once nobody waits for it.
    if (cache_ != nullptr) cache_->reclaim();
    return {};
}

void StepWriter::release() {
    std::vector<EventRecord> records;
    const auto release_records = [&] {
        if (records.empty()) return;
        durable_ = records.back().index + 1;
        monitor_.set_durable(durable_);
        bus_.release_blocks(records);
        records.clear();
    };
    for (PendingRelease& release : std::exchange(releases_, {})) {
        if (auto* record = std::get_if<EventRecord>(&release)) {
            records.push_back(*record);
            continue;
        }
        release_records();
        if (auto* added = std::get_if<TransactionAddedToMempool>(&release))
            bus_.release_mempool(std::move(*added));
        if (auto* removed = std::get_if<TransactionRemovedFromMempool>(&release))
            bus_.release_mempool(*removed);
    }
    release_records();
}

}  // namespace blockpub
