// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "store/block_lookup.hpp"

#include <blockpub/store.hpp>

#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace blockpub::test {

/// Another store, with a gate between a look-up and the read that follows from it: the gate stops one read of
/// a blob, the `nth` from the start, until it is opened.
///
/// Thread safety: as Store; `wait_until_reached` and `open` from any thread.
/// Ownership: borrows the store behind it.
/// Blocking: reads, at the gate.
class GatedStore final : public Store {
 public:
    GatedStore(Store& behind, unsigned nth) : behind_(behind), before_gate_(nth), lookup_(*this) {}

    /// Waits until a read is at the gate. Result: false when `leave` came first.
    bool wait_until_reached() BLOCKPUB_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        while (!reached_ && !left_) changed_.wait(mutex_);
        return reached_;
    }
    /// Lets the read go on, and all others.
    void open() BLOCKPUB_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }
    /// There will be no further read.
    void leave() BLOCKPUB_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        left_ = true;
        changed_.notify_all();
    }

    Result<Snapshot> snapshot() const override { return behind_.snapshot(); }
    Result<SharedBytes> read_blob(const BlobPlace& place) const override {
        pass_gate();
        return behind_.read_blob(place);
    }
    Result<MappedBytes> map_blob(const BlobPlace& place) const override {
        pass_gate();
        return behind_.map_blob(place);
    }
    BlockReader& block_reader() override { return lookup_; }
    StoreStatus status() const override { return behind_.status(); }
    Result<std::vector<EventRecord>> read_events(EventIndex first, std::size_t limit) override {
        return behind_.read_events(first, limit);
    }
    Result<BlobPlace> append_blob(SharedBytes bytes) override {
        return behind_.append_blob(std::move(bytes));
    }
    Result<BlobPlace> append_derived(SharedBytes bytes) override {
        return behind_.append_derived(std::move(bytes));
    }
    void write_ahead() override { behind_.write_ahead(); }
    void apply(StoreChanges changes) override { behind_.apply(std::move(changes)); }
    Result<void> commit() override { return behind_.commit(); }
    Result<void> commit_step() override { return behind_.commit_step(); }
    std::vector<SealedSegment> sealed_segments() const override { return behind_.sealed_segments(); }
    Result<void> remove_segments(std::span<const std::uint32_t> numbers) override {
        return behind_.remove_segments(numbers);
    }
    std::uint64_t pending_bytes() const override { return behind_.pending_bytes(); }
    Result<void> scan_headers(
        const std::function<Result<void>(const BlockHash&, const HeaderRecord&)>& visit) const override {
        return behind_.scan_headers(visit);
    }
    Result<void> scan_meta(
        std::string_view prefix,
        const std::function<Result<void>(std::string_view, std::string_view)>& visit) const override {
        return behind_.scan_meta(prefix, visit);
    }

 private:
    void pass_gate() const BLOCKPUB_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        if (open_ || reached_ || before_gate_-- != 0) return;
        reached_ = true;
        changed_.notify_all();
        while (!open_) changed_.wait(mutex_);
    }

    Store& behind_;
    mutable Mutex mutex_;
    mutable CondVar changed_;
    mutable unsigned before_gate_ BLOCKPUB_GUARDED_BY(mutex_);
    mutable bool reached_ BLOCKPUB_GUARDED_BY(mutex_) = false;
    bool open_ BLOCKPUB_GUARDED_BY(mutex_) = false;
    bool left_ BLOCKPUB_GUARDED_BY(mutex_) = false;
    BlockLookup lookup_;
};

}  // namespace blockpub::test
