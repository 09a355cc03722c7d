// SPDX-License-Identifier: MIT
#include "store/recent_blocks.hpp"

#include "unit/store/store_fixture.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <latch>
#include <semaphore>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE_BEGIN("store.recent_blocks");

namespace {

/// Gives a block of `size` bytes for every hash, when it is let.
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
    Result<MappedBytes> map_block(const BlockHash&) override { return fail(Errc::not_found, "mapped"); }

    std::atomic<int> reads = 0;
    std::atomic<int> failures = 0;
    bool throws = false;
    std::size_t size = 100;
    std::latch* entered = nullptr;
    std::counting_semaphore<>* gate = nullptr;
};

}  // namespace

TEST_CASE("a block that was put is not read from behind") {
    CountingReader behind;
    RecentBlocks recent(behind, 1000);
    const auto raw = blob_of(7, 300);
    recent.put(hash_of(1), raw);
    CHECK(must(recent.read_block(hash_of(1))).data() == raw.data());
    CHECK(behind.reads == 0);
    CHECK(error_of(recent.map_block(hash_of(1))).context == "mapped");
}

TEST_CASE("a block that was read is kept until newer ones need its room") {
    CountingReader behind;
    RecentBlocks recent(behind, 350);
    for (std::uint64_t i = 0; i < 3; ++i) must(recent.read_block(hash_of(i)));
    CHECK(behind.reads == 3);
    for (std::uint64_t i = 0; i < 3; ++i) must(recent.read_block(hash_of(i)));
    CHECK(behind.reads == 3);
    must(recent.read_block(hash_of(3)));  // 0 goes
    must(recent.read_block(hash_of(1)));
    CHECK(behind.reads == 4);
    must(recent.read_block(hash_of(0)));
    CHECK(behind.reads == 5);
}

TEST_CASE("a block larger than the whole capacity is given and not kept") {
    CountingReader behind;
    behind.size = 400;
    RecentBlocks recent(behind, 399);
    CHECK(must(recent.read_block(hash_of(1))).size() == 400);
    CHECK(must(recent.read_block(hash_of(1))).size() == 400);
    CHECK(behind.reads == 2);
}

TEST_CASE("a failed read is not kept") {
    CountingReader behind;
    behind.failures = 1;
    RecentBlocks recent(behind, 1000);
    CHECK(error_of(recent.read_block(hash_of(1))).code == Errc::io);
    CHECK(recent.read_block(hash_of(1)).has_value());
}

TEST_CASE("readers that miss one block at a time share one read of it") {
    constexpr int kReaders = 8;
    CountingReader behind;
    std::latch entered(1);
    std::counting_semaphore<> gate(0);
    behind.entered = &entered;
    behind.gate = &gate;
    RecentBlocks recent(behind, 1000);
    std::vector<Result<SharedBytes>> results(kReaders);
    std::vector<std::jthread> readers;
    readers.emplace_back([&] { results[0] = recent.read_block(hash_of(1)); });
    entered.wait();
    // The first is within its read and stays there: the others find it under way, or in the cache once it is
    // done.
    for (int i = 1; i < kReaders; ++i)
        readers.emplace_back([&, i] { results[i] = recent.read_block(hash_of(1)); });
    gate.release();
    readers.clear();
    CHECK(behind.reads == 1);
    for (const auto& result : results) CHECK(must(result).data() == must(results[0]).data());
}

TEST_CASE("a read that throws lets go of those who wait for it") {
    CountingReader behind;
    behind.throws = true;
    RecentBlocks recent(behind, 1000);
    CHECK_THROWS_AS((void)recent.read_block(hash_of(1)), std::runtime_error);
    behind.throws = false;
    CHECK(recent.read_block(hash_of(1)).has_value());
}
