// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"

#include <blockpub/bus.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace blockpub::test {

inline BlockHash hash_of(std::uint64_t number) {
    std::array<std::uint8_t, 32> wire{};
    for (std::size_t i = 0; i < 8; ++i) wire[i] = static_cast<std::uint8_t>(number >> (8 * i));
    wire[31] = 0x42;
    return BlockHash(wire);
}

inline Txid txid_of(std::uint64_t number) {
    return Txid(hash_of(number).wire_bytes());
}

inline EventRecord connected(EventIndex index, bool step_end = true) {
    EventRecord record{.index = index,
                       .kind = BlockEventKind::connected,
                       .hash = hash_of(index + 1),
                       .previous_hash = hash_of(index),
                       .height = Height{static_cast<std::uint32_t>(index)},
                       .step_end = std::nullopt};
    if (step_end)
        record.step_end = EventRecord::StepEnd{record.previous_hash, Height{record.height.value}, false};
    return record;
}

inline EventRecord disconnected(EventIndex index, std::uint32_t height, bool step_end = true) {
    EventRecord record{.index = index,
                       .kind = BlockEventKind::disconnected,
                       .hash = hash_of(index + 1),
                       .previous_hash = hash_of(index),
                       .height = Height{height},
                       .step_end = std::nullopt};
    if (step_end) record.step_end = EventRecord::StepEnd{record.previous_hash, Height{height - 1}, false};
    return record;
}

inline TransactionAddedToMempool added(std::uint64_t number, std::size_t size = 100) {
    const std::vector<std::uint8_t> raw(size, static_cast<std::uint8_t>(number));
    return {txid_of(number), MempoolSequence{number}, SharedBytes::copy_of(raw)};
}

/// One line for an event: `C 4`, `D 5`, `T 5` (tip update behind record 5), `A 17`, `R 18`.
inline std::string line_of(const Event& event) {
    struct Visitor {
        std::string operator()(const BlockConnected& e) const { return "C " + std::to_string(e.index); }
        std::string operator()(const BlockDisconnected& e) const { return "D " + std::to_string(e.index); }
        std::string operator()(const UpdatedBlockTip& e) const { return "T " + std::to_string(e.last_index); }
        std::string operator()(const TransactionAddedToMempool& e) const {
            return "A " + std::to_string(e.sequence.value);
        }
        std::string operator()(const TransactionRemovedFromMempool& e) const {
            return "R " + std::to_string(e.sequence.value);
        }
        std::string operator()(const BlocksPruned& e) const { return "P " + std::to_string(e.index); }
    };
    return std::visit(Visitor{}, event);
}

/// An event log in memory that can be made to fail.
class MemoryLog final : public EventLog {
 public:
    void append(const EventRecord& record) {
        MutexLock lock(mutex_);
        records_.push_back(record);
    }
    void fail_reads(unsigned count) {
        MutexLock lock(mutex_);
        failures_ = count;
    }
    void throw_reads(unsigned count) {
        MutexLock lock(mutex_);
        throws_ = count;
    }
    [[nodiscard]] unsigned reads() const {
        MutexLock lock(mutex_);
        return reads_;
    }
    [[nodiscard]] Result<std::vector<EventRecord>> read_events(EventIndex first, std::size_t limit) override {
        MutexLock lock(mutex_);
        ++reads_;
        if (throws_ > 0) {
            --throws_;
            throw std::bad_alloc();
        }
        if (failures_ > 0) {
            --failures_;
            return fail(Errc::io, "injected");
        }
        std::vector<EventRecord> out;
        for (EventIndex i = first; i < records_.size() && out.size() < limit; ++i) out.push_back(records_[i]);
        return out;
    }

 private:
    mutable Mutex mutex_;
    std::vector<EventRecord> records_ BLOCKPUB_GUARDED_BY(mutex_);
    unsigned failures_ BLOCKPUB_GUARDED_BY(mutex_) = 0;
    unsigned throws_ BLOCKPUB_GUARDED_BY(mutex_) = 0;
    unsigned reads_ BLOCKPUB_GUARDED_BY(mutex_) = 0;
};

/// Keeps a line for each event; `before` runs first and may block or throw.
class Recorder final : public EventHandler {
 public:
    explicit Recorder(std::function<void(const Event&)> before = {}) : before_(std::move(before)) {}
    void on_event(const Event& event) override {
        if (before_) before_(event);
        MutexLock lock(mutex_);
        lines_.push_back(line_of(event));
        changed_.notify_all();
    }
    [[nodiscard]] std::vector<std::string> lines() const {
        MutexLock lock(mutex_);
        return lines_;
    }
    [[nodiscard]] bool wait_for(std::size_t count,
                                std::chrono::seconds timeout = std::chrono::seconds(20)) const {
        const auto deadline = std::chrono::steady_clock::now() + timeout;
        MutexLock lock(mutex_);
        while (lines_.size() < count) {
            if (!changed_.wait_until(mutex_, deadline)) return lines_.size() >= count;
        }
        return true;
    }

 private:
    const std::function<void(const Event&)> before_;
    mutable Mutex mutex_;
    mutable CondVar changed_;
    std::vector<std::string> lines_ BLOCKPUB_GUARDED_BY(mutex_);
};

/// Takes all that a cursor has just now.
inline std::vector<std::string> take_all(EventCursor& cursor) {
    std::vector<std::string> lines;
    while (true) {
        const auto event = cursor.peek();
        if (!event || *event == nullptr) return lines;
        lines.push_back(line_of(**event));
        cursor.advance();
    }
}

using Lines = std::vector<std::string>;

}  // namespace blockpub::test
