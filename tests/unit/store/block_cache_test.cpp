// SPDX-License-Identifier: MIT
#include "store/block_cache.hpp"

#include "unit/store/store_fixture.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <map>
#include <memory>
#include <random>
#include <semaphore>
#include <thread>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE_BEGIN("store.block_cache");

namespace {

/// A part that says what it is of, and claims to take some memory.
struct FakePart {
    static constexpr BlockPart kPart = BlockPart::facts;
    [[nodiscard]] std::size_t memory() const { return bytes; }
    std::uint64_t salt = 0;
    std::size_t bytes = 0;
};
using FakePtr = std::shared_ptr<const FakePart>;

constexpr std::size_t kPartBytes = 10'000;
/// What a part of that size costs at most, with what the cache adds to it.
constexpr std::size_t kPartCost = 13'000;

FakePtr part(std::uint64_t salt, std::size_t bytes = kPartBytes) {
    return std::make_shared<const FakePart>(FakePart{.salt = salt, .bytes = bytes});
}

BlockCache::Item item(std::uint64_t salt, std::size_t bytes = kPartBytes) {
    return BlockCache::item(hash_of(salt), part(salt, bytes));
}

std::vector<BlockCache::Item> items(std::uint64_t first, std::uint64_t count) {
    std::vector<BlockCache::Item> all;
    for (std::uint64_t i = 0; i < count; ++i) all.push_back(item(first + i));
    return all;
}

/// Asks for a part that can always be loaded.
FakePtr get(BlockCache& cache, std::uint64_t salt) {
    return must(cache.get<FakePart>(hash_of(salt), [&] { return Result<FakePtr>(part(salt)); }));
}

bool there(BlockCache& cache, std::uint64_t salt) {
    return cache.find<FakePart>(hash_of(salt)) != nullptr;
}

}  // namespace

TEST_CASE("a million hits from eight threads take no exclusive lock") {
    constexpr std::uint64_t kThreads = 8;
    constexpr std::uint64_t kHitsEach = 125'000;
    constexpr std::uint64_t kBlocks = 16;
    BlockCache cache({.capacity_bytes = kBlocks * kPartCost});
    cache.insert(items(0, kBlocks));
    std::vector<BlockHash> hashes;
    for (std::uint64_t i = 0; i < kBlocks; ++i) hashes.push_back(hash_of(i));
    const auto before = cache.counters();
    REQUIRE(before.parts == kBlocks);
    std::atomic<std::uint64_t> wrong = 0;
    {
        std::latch start(kThreads);
        std::vector<std::jthread> threads;
        for (std::uint64_t t = 0; t < kThreads; ++t) {
            threads.emplace_back([&, t] {
                start.arrive_and_wait();
                for (std::uint64_t i = 0; i < kHitsEach; ++i) {
                    const std::uint64_t salt = (i + t) % kBlocks;
                    const auto found = cache.find<FakePart>(hashes[salt]);
                    if (!found || found->salt != salt) ++wrong;
                }
            });
        }
    }
    CHECK(wrong == 0);
    const auto after = cache.counters();
    CHECK(after.hits - before.hits == kThreads * kHitsEach);
    CHECK(after.exclusive_acquisitions == before.exclusive_acquisitions);
    CHECK(after.waits == 0);
    CHECK(after.misses == 0);
}

TEST_CASE("a batch of a hundred insertions, with what they push out, takes the lock once") {
    BlockCache cache({.capacity_bytes = 150 * kPartCost});
    cache.insert(items(0, 100));
    const auto before = cache.counters();
    cache.insert(items(1000, 100));
    const auto after = cache.counters();
    CHECK(after.exclusive_acquisitions - before.exclusive_acquisitions == 1);
    CHECK(after.insertions - before.insertions == 100);
    CHECK(after.evictions > 0);
    CHECK(after.parts == 200 - after.evictions);
    for (std::uint64_t i = 0; i < 100; ++i) CHECK(there(cache, 1000 + i));
}

TEST_CASE("the loads of one piece of work are inserted under one acquisition") {
    BlockCache cache({.capacity_bytes = 50 * kPartCost});
    {
        BlockCache::Batch batch(cache);
        for (std::uint64_t i = 0; i < 20; ++i)
            must(cache.get<FakePart>(hash_of(i), [&] { return Result<FakePtr>(part(i)); }, batch));
        CHECK(cache.counters().exclusive_acquisitions == 0);
        // What has been loaded is had without another load, though it is not in the table yet.
        must(cache.get<FakePart>(
            hash_of(7), []() -> Result<FakePtr> { return fail(Errc::io, "again"); }, batch));
    }
    CHECK(cache.counters().exclusive_acquisitions == 1);
    CHECK(cache.counters().insertions == 20);
    for (std::uint64_t i = 0; i < 20; ++i) CHECK(there(cache, i));
}

TEST_CASE("evictions go down to nine tenths of the capacity, and happen with insertions only") {
    BlockCache cache({.capacity_bytes = 100 * kPartCost});
    std::uint64_t next = 0;
    while (cache.counters().evictions == 0) cache.insert(items(next++, 1));
    const auto counters = cache.counters();
    CHECK(counters.bytes <= cache.capacity() * 9 / 10);
    CHECK(counters.bytes > cache.capacity() * 8 / 10);
    CHECK(counters.exclusive_acquisitions == next);
}

TEST_CASE("sixty-four threads that miss one block make one load") {
    constexpr int kThreads = 64;
    BlockCache cache({.capacity_bytes = kPartCost});
    std::atomic<int> loads = 0;
    std::vector<FakePtr> got(kThreads);
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < kThreads; ++t) {
            threads.emplace_back([&, t] {
                got[t] = must(cache.get<FakePart>(hash_of(1), [&]() -> Result<FakePtr> {
                    ++loads;
                    // All others have come and wait.
                    while (cache.counters().joined_loads < kThreads - 1) std::this_thread::yield();
                    return part(1);
                }));
            });
        }
    }
    CHECK(loads == 1);
    for (const FakePtr& one : got) CHECK(one.get() == got[0].get());
    const auto counters = cache.counters();
    CHECK(counters.misses == kThreads);
    CHECK(counters.joined_loads == kThreads - 1);
    CHECK(counters.insertions == 1);
    CHECK(counters.exclusive_acquisitions == 1);
}

TEST_CASE("a load that fails fails for who waits, and the next caller loads again") {
    BlockCache cache({.capacity_bytes = kPartCost});
    std::atomic<int> loads = 0;
    const auto load = [&]() -> Result<FakePtr> {
        if (++loads > 1) return part(1);
        while (cache.counters().joined_loads == 0) std::this_thread::yield();
        return fail(Errc::io, "disk");
    };
    std::vector<Result<FakePtr>> got(2);
    {
        std::vector<std::jthread> threads;
        for (auto& one : got) threads.emplace_back([&] { one = cache.get<FakePart>(hash_of(1), load); });
    }
    CHECK(error_of(std::move(got[0])).context == "disk");
    CHECK(error_of(std::move(got[1])).context == "disk");
    CHECK(loads == 1);
    CHECK(cache.counters().exclusive_acquisitions == 0);
    CHECK(must(cache.get<FakePart>(hash_of(1), load))->salt == 1);
    CHECK(loads == 2);
    CHECK(there(cache, 1));
}

TEST_CASE("a load of one block holds up nobody who wants another") {
    BlockCache cache({.capacity_bytes = 1000 * kPartCost});
    std::latch within(1);
    std::binary_semaphore gate(0);
    std::jthread slow([&] {
        must(cache.get<FakePart>(hash_of(0), [&]() -> Result<FakePtr> {
            within.count_down();
            gate.acquire();
            return part(0);
        }));
    });
    within.wait();
    for (std::uint64_t i = 1; i < 200; ++i) CHECK(get(cache, i)->salt == i);
    for (std::uint64_t i = 1; i < 200; ++i) CHECK(there(cache, i));
    gate.release();
}

TEST_CASE("what is forgotten is gone, and a load that began before is not kept") {
    BlockCache cache({.capacity_bytes = 10 * kPartCost});
    cache.insert(items(0, 2));
    const BlockHash hash = hash_of(1);
    cache.forget({&hash, 1});
    CHECK(there(cache, 0));
    CHECK(!there(cache, 1));
    const auto before = cache.counters();
    cache.forget({&hash, 1});
    CHECK(cache.counters().exclusive_acquisitions == before.exclusive_acquisitions);

    bool loaded_anew = false;
    const auto out_of_date = must(cache.get<FakePart>(hash, [&]() -> Result<FakePtr> {
        cache.forget({&hash, 1});
        // Who comes now does not get what was read before.
        must(cache.get<FakePart>(hash, [&]() -> Result<FakePtr> {
            loaded_anew = true;
            return part(2);
        }));
        return part(1);
    }));
    CHECK(out_of_date->salt == 1);
    CHECK(loaded_anew);
    CHECK(cache.find<FakePart>(hash)->salt == 2);
}

TEST_CASE("in a full cache a part comes in when it is missed for the second time") {
    BlockCache cache({.capacity_bytes = 20 * kPartCost});
    for (std::uint64_t i = 0; i < 40; ++i) get(cache, i);
    const auto full = cache.counters();
    CHECK(full.evictions == 0);
    get(cache, 1000);
    CHECK(!there(cache, 1000));
    CHECK(cache.counters().exclusive_acquisitions == full.exclusive_acquisitions);
    get(cache, 1000);
    CHECK(there(cache, 1000));
    CHECK(cache.counters().evictions > 0);
}

TEST_CASE("reading a long chain once leaves the parts that are used in place") {
    constexpr std::uint64_t kHot = 40;
    BlockCache cache({.capacity_bytes = 50 * kPartCost});
    for (int round = 0; round < 3; ++round) {
        for (std::uint64_t i = 0; i < kHot; ++i) get(cache, i);
    }
    for (std::uint64_t i = 0; i < 20'000; ++i) get(cache, 1'000'000 + i);
    std::uint64_t left = 0;
    for (std::uint64_t i = 0; i < kHot; ++i) left += there(cache, i) ? 1 : 0;
    CHECK(left == kHot);
}

TEST_CASE("of two parts the one that is used less goes, and uses long past do not count") {
    auto now = std::chrono::steady_clock::time_point();
    const auto hot_left = [&](std::chrono::minutes pause) {
        constexpr std::uint64_t kHot = 30;
        BlockCache cache({.capacity_bytes = 100 * kPartCost, .seed = 7, .now = [&] { return now; }});
        cache.insert(items(0, 60));
        for (int use = 0; use < 100; ++use) {
            for (std::uint64_t i = 0; i < kHot; ++i) CHECK(there(cache, i));
        }
        now += pause;
        // New ones, each used a few times.
        for (std::uint64_t i = 0; i < 120; ++i) {
            cache.insert(items(1000 + i, 1));
            static_cast<void>(there(cache, 1000 + i));
        }
        std::uint64_t left = 0;
        for (std::uint64_t i = 0; i < kHot; ++i) left += there(cache, i) ? 1 : 0;
        return left;
    };
    const std::uint64_t at_once = hot_left(std::chrono::minutes{0});
    const std::uint64_t after_hours = hot_left(std::chrono::minutes{300});
    // Two random ones may both be of those that are used.
    CHECK(at_once >= 20);
    CHECK(after_hours + 8 < at_once);
}

TEST_CASE("a cache without a capacity gives what is loaded and keeps nothing") {
    BlockCache cache(BlockCache::Options{});
    for (int i = 0; i < 3; ++i) CHECK(get(cache, 1)->salt == 1);
    cache.insert(items(0, 3));
    const auto counters = cache.counters();
    CHECK(counters.misses == 3);
    CHECK(counters.insertions == 0);
    CHECK(counters.exclusive_acquisitions == 0);
}

TEST_CASE("what a reader holds is freed when it lets go, everything else with the cache or before") {
    std::weak_ptr<const FakePart> held;
    std::weak_ptr<const FakePart> dropped;
    FakePtr reader;
    {
        BlockCache cache({.capacity_bytes = 10 * kPartCost});
        auto one = part(1);
        auto other = part(2);
        held = one;
        dropped = other;
        const BlockCache::Item both[] = {BlockCache::item(hash_of(1), std::move(one)),
                                         BlockCache::item(hash_of(2), std::move(other))};
        cache.insert(both);
        reader = cache.find<FakePart>(hash_of(1));
    }
    CHECK(!held.expired());
    CHECK(dropped.expired());
    reader.reset();
    CHECK(held.expired());
}

TEST_CASE("under random load the capacity is kept, and everybody gets what they asked for") {
    constexpr int kThreads = 4;
    constexpr int kSteps = 4000;
    constexpr std::uint64_t kBlocks = 300;
    const auto seed = std::random_device{}();
    INFO("seed " << seed);
    BlockCache cache(
        {.capacity_bytes = 60 * kPartCost, .half_life = std::chrono::milliseconds{1}, .seed = seed});
    std::atomic<std::uint64_t> wrong = 0;
    std::atomic<std::uint64_t> over = 0;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < kThreads; ++t) {
            threads.emplace_back([&, t] {
                std::mt19937_64 random(seed + static_cast<unsigned>(t));
                for (int step = 0; step < kSteps; ++step) {
                    const std::uint64_t salt = random() % kBlocks * (random() % 2);
                    const std::size_t bytes = 100 + salt * 97;
                    switch (random() % 8) {
                        case 0: {
                            const BlockCache::Item both[] = {item(salt, bytes), item(salt + 1, bytes)};
                            cache.insert(both);
                            break;
                        }
                        case 1: {
                            const BlockHash hash = hash_of(salt);
                            cache.forget({&hash, 1});
                            break;
                        }
                        case 2:
                            cache.reclaim();
                            break;
                        case 3: {
                            const bool fails = random() % 2 == 0;
                            const auto got = cache.get<FakePart>(hash_of(salt), [&]() -> Result<FakePtr> {
                                if (fails) return fail(Errc::io, "disk");
                                return part(salt, bytes);
                            });
                            if (got && (*got)->salt != salt) ++wrong;
                            break;
                        }
                        default: {
                            const auto got = cache.get<FakePart>(
                                hash_of(salt), [&] { return Result<FakePtr>(part(salt, bytes)); });
                            // One that joined a load gets its error, too.
                            if (got && (*got)->salt != salt) ++wrong;
                        }
                    }
                    const auto counters = cache.counters();
                    if (counters.bytes > cache.capacity()) ++over;
                }
            });
        }
    }
    CHECK(wrong == 0);
    CHECK(over == 0);
    const auto counters = cache.counters();
    CHECK(counters.evictions > 0);
    CHECK(counters.insertions >= counters.parts + counters.evictions);
}

TEST_CASE("one thread's random calls agree with a map of what must and what may be there") {
    const auto seed = std::random_device{}();
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    BlockCache cache({.capacity_bytes = 40 * kPartCost, .seed = seed});
    std::map<std::uint64_t, FakePtr> last;  // by salt: what would be found, if anything
    for (int step = 0; step < 20'000; ++step) {
        const std::uint64_t salt = random() % 100;
        const auto found = cache.find<FakePart>(hash_of(salt));
        const auto expected = last.find(salt);
        if (found) {
            REQUIRE(expected != last.end());
            REQUIRE(found.get() == expected->second.get());
        }
        switch (random() % 4) {
            case 0: {
                const auto fresh = part(salt, random() % (2 * kPartBytes));
                const BlockCache::Item one = BlockCache::item(hash_of(salt), fresh);
                cache.insert({&one, 1});
                if (!found) last[salt] = fresh;
                REQUIRE(cache.find<FakePart>(hash_of(salt)).get() == last[salt].get());
                break;
            }
            case 1: {
                const BlockHash hash = hash_of(salt);
                cache.forget({&hash, 1});
                last.erase(salt);
                REQUIRE(!there(cache, salt));
                break;
            }
            default: {
                bool loaded = false;
                const auto got = must(cache.get<FakePart>(hash_of(salt), [&] {
                    loaded = true;
                    return Result<FakePtr>(part(salt));
                }));
                REQUIRE(loaded == (found == nullptr));
                if (loaded) last[salt] = got;
            }
        }
        const auto counters = cache.counters();
        REQUIRE(counters.bytes <= cache.capacity());
    }
    CHECK(cache.counters().evictions > 0);
}

TEST_SUITE_END();
