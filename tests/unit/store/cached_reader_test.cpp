// SPDX-License-Identifier: MIT
#include "store/cached_reader.hpp"

#include "unit/store/store_fixture.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE_BEGIN("store.cached_reader");

namespace {

constexpr std::size_t kBlockSize = 10'000;
constexpr std::size_t kMany = 1'000'000;

/// Gives a block for every hash, when it is let.
class CountingReader final : public BlockReader {
 public:
    Result<SharedBytes> read_block(const BlockHash& hash) override {
        ++reads;
        if (entered != nullptr) entered->count_down();
        if (gate != nullptr) gate->acquire();
        if (throws) throw std::runtime_error("reader");
        if (failures > 0) {
            --failures;
            return fail(Errc::io, "disk");
        }
        return blob_of(hash.wire_bytes()[0], size);
    }
    Result<MappedBytes> map_block(const BlockHash& hash) override {
        ++maps;
        auto bytes = std::make_shared<const SharedBytes>(blob_of(hash.wire_bytes()[0], size));
        const ByteSpan view = bytes->bytes();
        return MappedBytes(view, std::move(bytes));
    }

    std::atomic<int> reads = 0;
    std::atomic<int> maps = 0;
    std::atomic<int> failures = 0;
    bool throws = false;
    std::size_t size = kBlockSize;
    std::latch* entered = nullptr;
    std::counting_semaphore<>* gate = nullptr;
};

void put(BlockCache& cache, std::uint64_t salt, const SharedBytes& raw) {
    const BlockCache::Item item =
        BlockCache::item(hash_of(salt), std::make_shared<const RawBlock>(RawBlock{raw}));
    cache.insert({&item, 1});
}

}  // namespace

TEST_CASE("a block that was put is not read from behind, be it mapped or not") {
    CountingReader behind;
    BlockCache cache({.capacity_bytes = kMany});
    CachedReader reader(behind, cache);
    const auto raw = blob_of(7, 300);
    put(cache, 1, raw);
    CHECK(must(reader.read_block(hash_of(1))).data() == raw.data());
    const auto mapped = must(reader.map_block(hash_of(1)));
    CHECK(mapped.bytes().data() == raw.data());
    CHECK(mapped.place() == MappedBytes::Place::heap);
    CHECK(behind.reads == 0);
    CHECK(behind.maps == 0);
}

TEST_CASE("a view outlives its place in the cache") {
    CountingReader behind;
    BlockCache cache({.capacity_bytes = kMany});
    CachedReader reader(behind, cache);
    put(cache, 1, blob_of(7, 300));
    const SharedBytes bytes = must(reader.read_block(hash_of(1)));
    const MappedBytes mapped = must(reader.map_block(hash_of(2)));
    const BlockHash gone[] = {hash_of(1), hash_of(2)};
    cache.forget(gone);
    cache.reclaim();
    CHECK(cache.counters().parts == 0);
    CHECK(same_bytes(bytes, blob_of(7, 300)));
    CHECK(same_bytes(mapped, blob_of(hash_of(2).wire_bytes()[0], kBlockSize)));
}

TEST_CASE("a block that was read or mapped is there the next time") {
    CountingReader behind;
    BlockCache cache({.capacity_bytes = kMany});
    CachedReader reader(behind, cache);
    for (int round = 0; round < 3; ++round) {
        must(reader.map_block(hash_of(1)));
        CHECK(must(reader.map_block(hash_of(1))).place() == MappedBytes::Place::map);
    }
    CHECK(behind.maps == 1);
    for (int round = 0; round < 3; ++round) must(reader.read_block(hash_of(1)));
    CHECK(behind.reads == 1);
}

TEST_CASE("a block in a map costs no memory, and keeps its segment open") {
    CountingReader behind;
    BlockCache cache({.capacity_bytes = kMany, .segments = 2});
    CachedReader reader(behind, cache);
    for (int round = 0; round < 2; ++round) {
        for (std::uint64_t i = 0; i < 3; ++i) must(reader.map_block(hash_of(i)));
    }
    const auto counters = cache.counters();
    CHECK(counters.segments <= 2);
    CHECK(counters.segments == counters.parts);  // each of them has its own here
    CHECK(counters.bytes < kBlockSize);
}

TEST_CASE("a block larger than the whole capacity is given and not kept") {
    CountingReader behind;
    BlockCache cache({.capacity_bytes = kBlockSize});
    CachedReader reader(behind, cache);
    for (int i = 0; i < 3; ++i) CHECK(must(reader.read_block(hash_of(1))).size() == kBlockSize);
    CHECK(behind.reads == 3);
    CHECK(cache.counters().exclusive_acquisitions == 0);
}

TEST_CASE("a failed read is not kept") {
    CountingReader behind;
    behind.failures = 1;
    BlockCache cache({.capacity_bytes = kMany});
    CachedReader reader(behind, cache);
    CHECK(error_of(reader.read_block(hash_of(1))).code == Errc::io);
    CHECK(reader.read_block(hash_of(1)).has_value());
    CHECK(reader.read_block(hash_of(1)).has_value());
    CHECK(behind.reads == 2);
}

TEST_CASE("readers that miss one block at a time share one read of it") {
    constexpr int kReaders = 8;
    CountingReader behind;
    std::latch entered(1);
    std::counting_semaphore<> gate(0);
    behind.entered = &entered;
    behind.gate = &gate;
    BlockCache cache({.capacity_bytes = kMany});
    CachedReader reader(behind, cache);
    std::vector<Result<SharedBytes>> results(kReaders);
    std::vector<std::jthread> readers;
    readers.emplace_back([&] { results[0] = reader.read_block(hash_of(1)); });
    entered.wait();
    // The first is within its read and stays there: the others find it under way, or in the cache once it is
    // done.
    for (int i = 1; i < kReaders; ++i)
        readers.emplace_back([&, i] { results[i] = reader.read_block(hash_of(1)); });
    gate.release();
    readers.clear();
    CHECK(behind.reads == 1);
    for (const auto& result : results) CHECK(must(result).data() == must(results[0]).data());
}

TEST_CASE("a read that throws lets go of those who wait for it") {
    CountingReader behind;
    behind.throws = true;
    BlockCache cache({.capacity_bytes = kMany});
    CachedReader reader(behind, cache);
    CHECK_THROWS_AS((void)reader.read_block(hash_of(1)), std::runtime_error);
    behind.throws = false;
    CHECK(reader.read_block(hash_of(1)).has_value());
}

TEST_SUITE_END();
