// SPDX-License-Identifier: MIT
#include "source/parse_pipeline.hpp"

#include "base/thread.hpp"

#include <fmt/format.h>

#include <utility>

namespace blockpub {

namespace {
/// What an item counts for beside its block, so that items without one are bounded too.
constexpr std::size_t kItemOverhead = 1024;

std::size_t cost(const ImportItem& item) {
    return item.raw.size() + kItemOverhead;
}
}  // namespace

ParsePipeline::ParsePipeline(unsigned threads, std::size_t limit_bytes) : limit_(limit_bytes) {
    for (unsigned i = 0; i < threads; ++i) {
        threads_.push_back(start_thread(fmt::format("import-parse-{}", i),
                                        [this](const std::stop_token&) { parse_loop(); }));
    }
}

ParsePipeline::~ParsePipeline() {
    stop();
}

bool ParsePipeline::put(ImportItem item) {
    auto slot = std::make_unique<Slot>();
    slot->item = std::move(item);
    slot->ready = slot->item.kind != ImportItem::Kind::block;
    MutexLock lock(mutex_);
    while (!stopped_ && !slots_.empty() && bytes_ + cost(slot->item) > limit_) changed_.wait(mutex_);
    if (stopped_) return false;
    bytes_ += cost(slot->item);
    slots_.push_back(std::move(slot));
    changed_.notify_all();
    return true;
}

void ParsePipeline::close() {
    MutexLock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
}

void ParsePipeline::stop() {
    MutexLock lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
}

ParsePipeline::Taken ParsePipeline::take(std::chrono::steady_clock::time_point deadline) {
    MutexLock lock(mutex_);
    while (!stopped_ && (slots_.empty() ? !closed_ : !slots_.front()->ready)) {
        if (!changed_.wait_until(mutex_, deadline))
            return {.kind = Taken::Kind::timeout, .item = {}, .parsed = {}};
    }
    if (stopped_ || slots_.empty()) return {};
    const std::unique_ptr<Slot> slot = std::move(slots_.front());
    slots_.pop_front();
    if (unparsed_ > 0) --unparsed_;
    bytes_ -= cost(slot->item);
    changed_.notify_all();
    return {Taken::Kind::item, std::move(slot->item), std::move(slot->parsed)};
}

void ParsePipeline::parse_loop() {
    MutexLock lock(mutex_);
    while (!stopped_) {
        while (unparsed_ < slots_.size() && slots_[unparsed_]->ready) ++unparsed_;
        if (unparsed_ == slots_.size()) {
            if (closed_) return;
            changed_.wait(mutex_);
            continue;
        }
        Slot* const slot = slots_[unparsed_++].get();
        lock.unlock();
        auto parsed = ParsedBlock::parse(slot->item.raw);
        lock.lock();
        slot->parsed = std::move(parsed);
        slot->ready = true;
        changed_.notify_all();
    }
}

}  // namespace blockpub
