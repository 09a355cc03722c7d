// SPDX-License-Identifier: MIT
#pragma once

#include "chain/chain.hpp"
#include "chain/coins_engine.hpp"
#include "primitives/chain_params.hpp"
#include "store/block_cache.hpp"
#include "support/block_builder.hpp"
#include "support/temporary_directory.hpp"

#include <blockpub/bus.hpp>
#include <blockpub/store.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace blockpub::test {

/// The value of a Result, or a failed test with the error's words.
template <class T>
T must(Result<T> result) {
    if (!result) FAIL("error: " << result.error().context);
    return std::move(*result);
}
inline void must(const Result<void>& result) {
    if (!result) FAIL("error: " << result.error().context);
}

/// Store, bus and chain on regtest in a directory of their own; can be stopped and started again on it.
///
/// The clock stands two hours after a fixed day, so that children ten minutes apart are never too new;
/// initial download is over with the first block, unless `chain_options` say otherwise.
class RegtestChain {
 public:
    struct Options {
        ChainOptions chain;  ///< the pointers are filled in
        StoreFaults* faults = nullptr;
        Logger* logger = nullptr;
    };
    static constexpr std::int64_t kNow = 1'700'000'000;

    explicit RegtestChain(Options options = default_options()) : options_(std::move(options)) { start(); }
    /// Tag: the test starts it itself.
    struct NotStarted {};
    RegtestChain(Options options, NotStarted) : options_(std::move(options)) {}
    ~RegtestChain() { stop(); }
    RegtestChain(const RegtestChain&) = delete;
    RegtestChain& operator=(const RegtestChain&) = delete;

    [[nodiscard]] static Options default_options() {
        Options options;
        options.chain.max_tip_age = std::chrono::seconds{1'000'000'000};
        options.chain.commit_retry_first = std::chrono::milliseconds{1};
        options.chain.commit_retry_longest = std::chrono::milliseconds{10};
        return options;
    }

    /// For a test that opens the store alone, while the chain is stopped.
    [[nodiscard]] StoreOptions store_options() const {
        const ChainParams& params = chain_params(ChainKind::regtest);
        StoreOptions store;
        store.directory = directory_.path();
        store.network_magic = params.magic;
        store.genesis_hash = params.genesis_hash;
        store.segment_bytes = std::uint64_t{16} << 20;
        store.map_bytes = std::uint64_t{1} << 30;
        store.min_free_disk = 0;
        store.faults = options_.faults;
        store.logger = options_.logger;
        return store;
    }

    /// Opens all; an Error of Chain::start is returned, anything else fails the test.
    [[nodiscard]] Result<void> try_start() {
        clock_.set_fixed(kNow);
        store_ = must(Store::open(store_options()));
        cache_.emplace(BlockCache::Options{.capacity_bytes = std::size_t{8} << 20});
        bus_.emplace(
            BusOptions{.log = store_.get(), .next_index = must(must(store_->snapshot()).next_event())});
        cursor_ = bus_->open_cursor([] {});
        ChainOptions chain = options_.chain;
        chain.params = &chain_params(ChainKind::regtest);
        chain.store = store_.get();
        chain.bus = &*bus_;
        chain.cache = &*cache_;
        chain.clock = &clock_;
        chain.logger = options_.logger;
        auto started = Chain::start(chain);
        if (!started) return forward_error(started);
        chain_ = std::move(*started);
        return {};
    }
    void start() { must(try_start()); }
    void stop() {
        if (chain_) chain_->stop();
        chain_.reset();
        cursor_.reset();
        bus_.reset();
        cache_.reset();
        store_.reset();
    }
    void restart() {
        stop();
        start();
    }

    [[nodiscard]] Chain& chain() { return *chain_; }
    [[nodiscard]] Store& store() { return *store_; }
    [[nodiscard]] Bus& bus() { return *bus_; }
    [[nodiscard]] BlockCache& cache() { return *cache_; }
    [[nodiscard]] Clock& clock() { return clock_; }
    [[nodiscard]] Options& options() { return options_; }

    /// submitblock's result: empty for null.
    std::string submit(const BuiltBlock& block) { return must(chain_->submit_block(block.raw)).bip22(); }
    void submit_all(const std::vector<BuiltBlock>& blocks) {
        for (const BuiltBlock& block : blocks) static_cast<void>(submit(block));
    }
    [[nodiscard]] BlockHash tip() { return must(must(store_->snapshot()).tip()).hash; }
    [[nodiscard]] HeaderRecord header(const BlockHash& hash) {
        return must(must(store_->snapshot()).header(hash));
    }
    [[nodiscard]] std::vector<EventRecord> log() { return must(store_->read_events(0, 1'000'000)); }

    /// What the bus has released since the last call.
    [[nodiscard]] std::vector<Event> released() {
        std::vector<Event> events;
        while (const Event* event = must(cursor_->peek())) {
            events.push_back(*event);
            cursor_->advance();
        }
        return events;
    }

 private:
    Options options_;
    TemporaryDirectory directory_;
    Clock clock_;
    std::unique_ptr<Store> store_;
    std::optional<BlockCache> cache_;
    std::optional<Bus> bus_;
    std::unique_ptr<EventCursor> cursor_;
    std::unique_ptr<Chain> chain_;
};

}  // namespace blockpub::test
