// SPDX-License-Identifier: MIT
#pragma once

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "chain/chain.hpp"
#include "chain/coins_ledger.hpp"
#include "primitives/chain_params.hpp"
#include "store/cached_reader.hpp"
#include "store/coin_store.hpp"
#include "support/block_builder.hpp"

#include <blockpub/block_reader.hpp>
#include <blockpub/bus.hpp>
#include <blockpub/logger.hpp>
#include <blockpub/publisher.hpp>
#include <blockpub/store.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

// The parts of a node between submit_block and a subscriber's socket, put together by hand, with a door for
// faults at each place where the system can fail.

namespace blockpub::test {

/// A directory that is gone with the object.
class TemporaryDirectory {
 public:
    TemporaryDirectory();
    ~TemporaryDirectory();
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
    std::filesystem::path path_;
};

/// Waits for what another thread does and nothing announces.
template <class Condition>
[[nodiscard]] bool eventually(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

/// Keeps every line above debug.
/// Thread safety: every method from any thread.
class LineLogger final : public Logger {
 public:
    void write(LogLevel level, LogCategory category, std::string_view line) noexcept override
        BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] bool debug_enabled(LogCategory) const noexcept override { return false; }
    /// Lines that are at least a warning.
    [[nodiscard]] std::vector<std::string> complaints() const BLOCKPUB_EXCLUDES(mutex_);

 private:
    mutable Mutex mutex_;
    std::vector<std::string> complaints_ BLOCKPUB_GUARDED_BY(mutex_);
};

/// Makes one kind of system call of the store fail, as often as it is told to.
/// Thread safety: every method from any thread.
class CountedFaults final : public StoreFaults {
 public:
    /// The next `times` calls at `point` fail with `code`.
    void fail_next(Point point, int code, int times) noexcept;
    /// Calls that were made to fail so far.
    [[nodiscard]] int failed() const noexcept { return failed_.load(); }
    [[nodiscard]] int at(Point point) noexcept override;

 private:
    std::atomic<int> point_{-1};
    std::atomic<int> code_{0};
    std::atomic<int> left_{0};
    std::atomic<int> failed_{0};
};

/// A reader in front of another that fails on request, or that first takes a lock which a test may hold.
/// Thread safety: every method from any thread. Blocking: while the gate is held.
class FaultyReader final : public BlockReader {
 public:
    explicit FaultyReader(BlockReader& behind) : behind_(behind) {}
    /// Reads of `hash` fail with io until `stop_failing`, or for the next `times`.
    void fail_on(const BlockHash& hash, int times) BLOCKPUB_EXCLUDES(mutex_);
    void stop_failing() BLOCKPUB_EXCLUDES(mutex_);
    /// Reads take and release this lock first; null takes the gate away.
    void set_gate(Mutex* gate) { gate_.store(gate); }
    [[nodiscard]] int reads() const { return reads_.load(); }

    [[nodiscard]] Result<SharedBytes> read_block(const BlockHash& hash) override BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] Result<MappedBytes> map_block(const BlockHash& hash) override;

 private:
    void pass_gate();
    BlockReader& behind_;
    std::atomic<Mutex*> gate_{nullptr};
    std::atomic<int> reads_{0};
    Mutex mutex_;
    std::optional<BlockHash> failing_ BLOCKPUB_GUARDED_BY(mutex_);
    int times_ BLOCKPUB_GUARDED_BY(mutex_) = 0;
};

/// A message as it was received.
struct Message {
    std::string topic;
    std::vector<std::uint8_t> body;
    std::uint32_t counter = 0;
};

/// A SUB socket. Thread safety: one thread.
class TestSubscriber {
 public:
    explicit TestSubscriber(const std::string& endpoint, const std::string& prefix = "");
    ~TestSubscriber();
    TestSubscriber(const TestSubscriber&) = delete;
    TestSubscriber& operator=(const TestSubscriber&) = delete;
    /// The next message; nothing when none comes within the time. Requires: messages have three frames
    /// (checked).
    [[nodiscard]] std::optional<Message> receive(int timeout_ms);

 private:
    void* context_;
    void* socket_;
};

/// The messages, without counters, that all five topics owe for a block that is connected and becomes the
/// tip.
[[nodiscard]] std::vector<std::pair<std::string, std::vector<std::uint8_t>>> connect_messages(
    const BuiltBlock& block);

/// Makes the coin flusher fail or wait.
/// Thread safety: every method from any thread.
class FlushFaults final : public StoreFaults {
 public:
    /// Every call at `point` fails with `code`; 0 ends it.
    void fail_at(Point point, int code) BLOCKPUB_EXCLUDES(mutex_);
    /// The flusher waits before its first coin until `release`.
    void hold() BLOCKPUB_EXCLUDES(mutex_);
    void release() BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] bool holding() const BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] int at(Point point) noexcept override BLOCKPUB_EXCLUDES(mutex_);

 private:
    mutable Mutex mutex_;
    CondVar changed_;
    bool held_ BLOCKPUB_GUARDED_BY(mutex_) = false;
    bool waiting_ BLOCKPUB_GUARDED_BY(mutex_) = false;
    Point point_ BLOCKPUB_GUARDED_BY(mutex_) = Point::coin_put;
    int code_ BLOCKPUB_GUARDED_BY(mutex_) = 0;
};

/// Store, bus, chain and one publisher of all five topics; coins where they have a budget.
class NodeParts {
 public:
    explicit NodeParts(const std::filesystem::path& directory, std::uint64_t coin_bytes = 0);
    ~NodeParts();
    NodeParts(const NodeParts&) = delete;
    NodeParts& operator=(const NodeParts&) = delete;

    [[nodiscard]] std::unique_ptr<Publisher> make_publisher(BlockReader& reader);
    /// Mines and submits on the tip until `subscriber` gets a block's messages, and reads them all.
    void synchronize(TestSubscriber& subscriber);
    /// A block on the tip, not submitted.
    [[nodiscard]] BuiltBlock next_block();
    /// The same, with so many coins.
    [[nodiscard]] BuiltBlock next_block_with(std::size_t coins);
    /// Submits the block; it must connect. It is the tip then.
    void connect(const BuiltBlock& block);
    /// Receives the messages of `block` and nothing else; checks bodies, order and counters.
    void expect_block(TestSubscriber& subscriber, const BuiltBlock& block);
    /// Ends publisher, chain, bus and store, in this order.
    void close();

    LineLogger logger;
    CountedFaults faults;
    FlushFaults flush_faults;
    Clock clock;
    std::unique_ptr<Store> store;
    std::unique_ptr<CoinStore> coins;  ///< null without a budget
    std::unique_ptr<CoinsLedger> ledger;
    std::unique_ptr<Bus> bus;
    std::unique_ptr<BlockCache> cache;
    std::unique_ptr<CachedReader> blocks;
    std::unique_ptr<FaultyReader> reader;  ///< what the publisher reads with
    std::unique_ptr<Chain> chain;
    std::unique_ptr<Publisher> publisher;
    BuiltBlock tip;

 private:
    std::uint64_t salt_ = 0;
    std::map<std::string, std::uint32_t> counters_;
};

}  // namespace blockpub::test
