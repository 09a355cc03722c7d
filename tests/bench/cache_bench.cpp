// SPDX-License-Identifier: MIT
// The block cache against a list of the last used behind a mutex, and against one that takes its lock
// exclusively for every operation: hits by several threads, a scan that must not wash hot parts out, and what
// a new tip costs that pushes others out.

#include "bench_support.hpp"
#include "store/block_cache.hpp"

#include <array>
#include <atomic>
#include <latch>
#include <list>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <thread>
#include <unordered_map>

using namespace blockpub;
using namespace blockpub::bench;

namespace {

constexpr std::size_t kPartBytes = 1'000'000;
constexpr std::size_t kPartCost = kPartBytes + 8192;  // with what the cache adds
constexpr std::size_t kHot = 48;
constexpr std::size_t kCapacity = 64;  // parts
constexpr auto kTime = std::chrono::milliseconds(300);

struct Part {
    static constexpr BlockPart kPart = BlockPart::raw;
    [[nodiscard]] std::size_t memory() const { return kPartBytes; }
    std::uint64_t number = 0;
};
using PartPtr = std::shared_ptr<const Part>;

BlockHash hash_of(std::uint64_t number) {
    std::array<std::uint8_t, 32> wire{};
    std::mt19937_64 random(number);
    for (std::size_t i = 0; i < wire.size(); i += 8) {
        const std::uint64_t word = random();
        std::memcpy(wire.data() + i, &word, 8);
    }
    return BlockHash(wire);
}

PartPtr load(std::uint64_t number) {
    return std::make_shared<const Part>(Part{number});
}

/// What all three can do; `get` loads what is not there.
class Cache {
 public:
    virtual ~Cache() = default;
    virtual bool get(const BlockHash& hash, std::uint64_t number) = 0;  ///< whether it was a hit
    [[nodiscard]] virtual std::uint64_t exclusive_acquisitions() const = 0;
};

class OurCache final : public Cache {
 public:
    bool get(const BlockHash& hash, std::uint64_t number) override {
        bool hit = true;
        static_cast<void>(cache.get<Part>(hash, [&] {
            hit = false;
            return Result<PartPtr>(load(number));
        }));
        return hit;
    }
    [[nodiscard]] std::uint64_t exclusive_acquisitions() const override {
        return cache.counters().exclusive_acquisitions;
    }
    BlockCache cache{{.capacity_bytes = kCapacity * kPartCost}};
};

/// The last used first in a list, all of it behind one mutex.
class MutexLru final : public Cache {
 public:
    bool get(const BlockHash& hash, std::uint64_t number) override {
        {
            const std::scoped_lock lock(mutex_);
            ++acquisitions_;
            if (const auto found = places_.find(hash); found != places_.end()) {
                parts_.splice(parts_.begin(), parts_, found->second);
                const PartPtr copy = found->second->second;
                return true;
            }
        }
        auto part = load(number);
        const std::scoped_lock lock(mutex_);
        ++acquisitions_;
        parts_.emplace_front(hash, std::move(part));
        if (!places_.try_emplace(hash, parts_.begin()).second) parts_.pop_front();
        if (parts_.size() > kCapacity) {
            places_.erase(parts_.back().first);
            parts_.pop_back();
        }
        return false;
    }
    [[nodiscard]] std::uint64_t exclusive_acquisitions() const override { return acquisitions_; }

 private:
    std::mutex mutex_;
    std::uint64_t acquisitions_ = 0;
    std::list<std::pair<BlockHash, PartPtr>> parts_;
    std::unordered_map<BlockHash, std::list<std::pair<BlockHash, PartPtr>>::iterator> places_;
};

/// Looks up under a shared lock, and then counts the use, and evicts, under an exclusive one: as the cache
/// did whose contention this one is to avoid.
class LockedEachTime final : public Cache {
 public:
    bool get(const BlockHash& hash, std::uint64_t number) override {
        PartPtr part;
        {
            const std::shared_lock lock(mutex_);
            if (const auto found = parts_.find(hash); found != parts_.end()) part = found->second.part;
        }
        const bool hit = part != nullptr;
        if (!hit) part = load(number);
        const std::unique_lock lock(mutex_);
        ++acquisitions_;
        auto& place = parts_[hash];
        if (!place.part) place.part = std::move(part);
        place.used = acquisitions_;
        if (parts_.size() > kCapacity) {
            parts_.erase(
                std::ranges::min_element(parts_, {}, [](const auto& one) { return one.second.used; }));
        }
        return hit;
    }
    [[nodiscard]] std::uint64_t exclusive_acquisitions() const override { return acquisitions_; }

 private:
    struct Place {
        PartPtr part;
        std::uint64_t used = 0;
    };
    std::shared_mutex mutex_;
    std::uint64_t acquisitions_ = 0;
    std::unordered_map<BlockHash, Place> parts_;
};

std::vector<BlockHash> hashes(std::uint64_t first, std::size_t count) {
    std::vector<BlockHash> all;
    for (std::uint64_t i = 0; i < count; ++i) all.push_back(hash_of(first + i));
    return all;
}

struct Rate {
    double per_second = 0;
    std::uint64_t acquisitions = 0;  ///< exclusive, for a million operations
};

/// Hits by so many threads, of `hot` or, all of them, of its first.
Rate measure_hits(Cache& cache, const std::vector<BlockHash>& hot, unsigned threads) {
    std::atomic<bool> end{false};
    std::atomic<std::uint64_t> operations{0};
    const std::uint64_t before = cache.exclusive_acquisitions();
    std::latch started(threads + 1);
    std::vector<std::jthread> readers;
    for (unsigned t = 0; t < threads; ++t) {
        readers.emplace_back([&, t] {
            std::uint64_t done = 0;
            started.arrive_and_wait();
            for (std::size_t i = t; !end.load(std::memory_order_relaxed); ++i, ++done)
                static_cast<void>(cache.get(hot[i % hot.size()], i % hot.size()));
            operations += done;
        });
    }
    started.arrive_and_wait();
    const auto begin = SteadyClock::now();
    std::this_thread::sleep_for(kTime);
    end = true;
    const double seconds = seconds_since(begin);
    readers.clear();
    const auto done = static_cast<double>(operations);
    const auto acquisitions = static_cast<double>(cache.exclusive_acquisitions() - before);
    return {done / seconds, static_cast<std::uint64_t>(acquisitions * 1e6 / done)};
}

void compare_hits(const char* what, const std::vector<BlockHash>& hot) {
    OurCache ours;
    MutexLru lru;
    LockedEachTime locked;
    const std::array<Cache*, 3> caches = {&ours, &lru, &locked};
    for (Cache* cache : caches) {
        for (std::size_t i = 0; i < hot.size(); ++i) static_cast<void>(cache->get(hot[i], i));
    }
    for (const unsigned threads : {1U, 2U, 4U, 8U, 16U}) {
        std::array<std::vector<double>, 3> rates;
        std::array<std::uint64_t, 3> acquisitions{};
        for (int round = 0; round < 3; ++round) {
            for (std::size_t i = 0; i < caches.size(); ++i) {
                const Rate rate = measure_hits(*caches[i], hot, threads);
                rates[i].push_back(rate.per_second);
                acquisitions[i] = rate.acquisitions;
            }
        }
        const double own = median(rates[0]);
        fmt::print(
            "{:2} threads, hits of {:13}: {:6.1f} M/s, {:5.2f} times a mutex and a list, {:5.2f} times a "
            "lock each "
            "time; exclusive acquisitions for a million: {}, {}, {}\n",
            threads, what, own / 1e6, own / median(rates[1]), own / median(rates[2]), acquisitions[0],
            acquisitions[1], acquisitions[2]);
        fmt::print(
            "{{\"bench\":\"cache_hits\",\"what\":\"{}\",\"threads\":{},\"hits_s\":{:.0f},\"ratio_lru\":{:.3f}"
            ","
            "\"ratio_locked\":{:.3f},\"acquisitions\":[{},{},{}]}}\n",
            what, threads, own, own / median(rates[1]), own / median(rates[2]), acquisitions[0],
            acquisitions[1], acquisitions[2]);
    }
}

/// Share of hits among hot parts, while as many parts as `scanned` are read once between them.
double hot_hit_rate(Cache& cache, const std::vector<BlockHash>& hot, std::size_t scanned) {
    constexpr std::size_t kScannedBetween = 100;
    std::uint64_t hits = 0;
    std::uint64_t asked = 0;
    std::uint64_t next = 1'000'000;
    for (std::size_t i = 0; i < scanned / kScannedBetween; ++i) {
        hits += cache.get(hot[i % hot.size()], i % hot.size()) ? 1 : 0;
        ++asked;
        for (std::size_t k = 0; k < kScannedBetween; ++k, ++next)
            static_cast<void>(cache.get(hash_of(next), next));
    }
    return static_cast<double>(hits) / static_cast<double>(asked);
}

void compare_scans(const std::vector<BlockHash>& hot) {
    constexpr std::size_t kScanned = 100'000;
    const auto measure = [&](Cache& cache) {
        for (int round = 0; round < 3; ++round) {
            for (std::size_t i = 0; i < hot.size(); ++i) static_cast<void>(cache.get(hot[i], i));
        }
        return hot_hit_rate(cache, hot, kScanned);
    };
    OurCache ours;
    MutexLru lru;
    const double own = measure(ours);
    const double of_list = measure(lru);
    fmt::print(
        "hot parts while {} others are read once: {:.2f} % are hits, {:.2f} % in a list of the last used\n",
        kScanned, own * 100, of_list * 100);
    fmt::print("{{\"bench\":\"cache_scan\",\"scanned\":{},\"hit_rate\":{:.4f},\"lru_hit_rate\":{:.4f}}}\n",
               kScanned, own, of_list);
}

/// What the chain thread spends on the three parts of a new tip, in a full cache.
void measure_tips() {
    BlockCache cache({.capacity_bytes = kCapacity * kPartCost});
    std::vector<double> times;
    for (std::uint64_t number = 0; number < 2000; ++number) {
        std::vector<BlockCache::Item> items;
        for (std::uint64_t i = 0; i < 3; ++i)
            items.push_back(BlockCache::item(hash_of(number * 3 + i), load(number)));
        const auto begin = SteadyClock::now();
        cache.insert(items);
        if (number > 100) times.push_back(seconds_since(begin) * 1e6);
        cache.reclaim();
    }
    std::ranges::sort(times);
    const double p99 = times[times.size() * 99 / 100];
    fmt::print("three parts of a new tip into a full cache: median {:.1f} us, p99 {:.1f} us\n", median(times),
               p99);
    fmt::print("{{\"bench\":\"cache_tip\",\"median_us\":{:.2f},\"p99_us\":{:.2f}}}\n", median(times), p99);
}

}  // namespace

int main() {
    const auto hot = hashes(0, kHot);
    compare_hits("one block", {hot.front()});
    compare_hits("hot blocks", hot);
    compare_scans(hot);
    measure_tips();
}
