// SPDX-License-Identifier: MIT
#include "store/block_cache.hpp"

#include <algorithm>
#include <bit>
#include <random>
#include <thread>
#include <variant>

namespace blockpub {
namespace {

/// Uses that a part begins with. What is put in by itself, a new tip, will be asked for in a moment.
constexpr std::uint64_t kUsesOfLoaded = 1;
constexpr std::uint64_t kUsesOfInserted = 8;
/// More counts of references than that would cost more than the contention that they spare.
constexpr unsigned kMaxCopies = 8;
/// Memory to a bucket: a few parts of small blocks.
constexpr std::size_t kBucketBytes = 8192;

unsigned processors() {
    return std::max(1U, std::thread::hardware_concurrency());
}

std::size_t buckets_for(std::size_t capacity) {
    return std::clamp(capacity / kBucketBytes, std::size_t{64}, std::size_t{1} << 20);
}

std::uint64_t seed_or_random(std::uint64_t seed) {
    return seed != 0 ? seed : std::random_device{}();
}

}  // namespace

/// Holds the exclusive lock, and counts that it was taken.
class BLOCKPUB_SCOPED_CAPABILITY BlockCache::Exclusive {
 public:
    explicit Exclusive(BlockCache& cache) BLOCKPUB_ACQUIRE(cache.mutex_) BLOCKPUB_NO_THREAD_SAFETY_ANALYSIS
        : mutex_(cache.mutex_) {
        if (!mutex_.try_lock()) {
            cache.waits_.fetch_add(1, std::memory_order_relaxed);
            mutex_.lock();
        }
        ++cache.counters_.exclusive_acquisitions;
    }
    ~Exclusive() BLOCKPUB_RELEASE() { mutex_.unlock(); }
    Exclusive(const Exclusive&) = delete;
    Exclusive& operator=(const Exclusive&) = delete;

 private:
    Mutex& mutex_;
};

BlockCache::BlockCache(Options options)
    : options_(std::move(options)),
      table_(buckets_for(options_.capacity_bytes), std::min(processors(), kMaxCopies), processors()),
      population_(options_.half_life, seed_or_random(options_.seed)) {}

Result<BlockCache::Object> BlockCache::load_part(const CacheKey& key,
                                                 const std::function<Result<CachedPart>()>& load,
                                                 Batch& batch) {
    const bool again = note_miss(key);
    auto entered = loads_.enter(key, [&] { return table_.find(key); });
    if (auto* const object = std::get_if<Object>(&entered)) return std::move(*object);
    misses_.fetch_add(1, std::memory_order_relaxed);
    if (const auto* const joined = std::get_if<Result<CachedPart>>(&entered)) {
        if (!*joined) return std::unexpected(joined->error());
        return (*joined)->object;
    }
    const auto& mine = std::get<CacheLoads::LoadPtr>(entered);
    batch.loaded_.reserve(batch.loaded_.size() + 1);
    auto part = run(key, mine, load);
    if (!part) return std::unexpected(part.error());
    batch.loaded_.push_back({.item = {key, *part}, .load = mine, .again = again});
    return std::move(part->object);
}

Result<CachedPart> BlockCache::run(const CacheKey& key, const CacheLoads::LoadPtr& load,
                                   const std::function<Result<CachedPart>()>& read) {
    // Those who wait must be let go whatever happens here.
    try {
        auto part = read();
        loads_.finish(key, load, part);
        return part;
    } catch (...) {
        loads_.finish(key, load, fail(Errc::io, "reading a block ended with an exception"));
        throw;
    }
}

bool BlockCache::note_miss(const CacheKey& key) {
    const std::uint64_t mark = CacheKeyHash{}(key) | 1;
    // The table's bucket is chosen by the low bits.
    auto& place = missed_[(mark >> 32) % missed_.size()];
    return place.exchange(mark, std::memory_order_relaxed) == mark;
}

std::size_t BlockCache::cost_of(const CachedPart& part) const {
    return part.bytes + CacheNode::overhead(table_.copies());
}

bool BlockCache::admits(const Batch::Loaded& one) {
    const std::size_t cost = cost_of(one.item.part);
    if (cost > options_.capacity_bytes || (one.item.part.segment != nullptr && options_.segments == 0))
        return false;
    if (one.again) return true;
    if (full_.load(std::memory_order_relaxed)) return false;
    const bool room =
        bytes_.load(std::memory_order_relaxed) + cost <= options_.capacity_bytes &&
        (one.item.part.segment == nullptr || segments_.load(std::memory_order_relaxed) < options_.segments);
    if (!room) full_.store(true, std::memory_order_relaxed);
    return room;
}

void BlockCache::end(const std::vector<Batch::Loaded>& loaded) {
    if (loaded.empty()) return;
    std::vector<const Batch::Loaded*> admitted;
    for (const Batch::Loaded& one : loaded) {
        if (admits(one)) admitted.push_back(&one);
    }
    if (!admitted.empty()) {
        const Exclusive exclusive(*this);
        std::vector<const Item*> items;
        // Asked under the lock: forget() takes it after it has marked a load.
        for (const Batch::Loaded* one : admitted) {
            if (!one->load->forgotten) items.push_back(&one->item);
        }
        insert_locked(items, kUsesOfLoaded);
    }
    for (const Batch::Loaded& one : loaded) loads_.leave(one.item.key, one.load);
    table_.reclaim();
}

void BlockCache::insert(std::span<const Item> items) {
    if (options_.capacity_bytes == 0) return;
    std::vector<const Item*> pointers;
    for (const Item& item : items) pointers.push_back(&item);
    const Exclusive exclusive(*this);
    insert_locked(pointers, kUsesOfInserted);
}

void BlockCache::insert_locked(std::span<const Item* const> items, std::uint64_t uses) {
    std::vector<const Item*> fresh;
    std::size_t cost = 0;
    for (const Item* const item : items) {
        if (cost + cost_of(item->part) > options_.capacity_bytes || table_.locate(item->key) != nullptr)
            continue;
        const auto same = [&](const Item* other) { return other->key == item->key; };
        if (std::ranges::any_of(fresh, same)) continue;
        cost += cost_of(item->part);
        fresh.push_back(item);
    }
    make_room_locked(fresh);
    for (const Item* const item : fresh) {
        auto node = std::make_unique<CacheNode>(item->key, item->part, table_.copies());
        node->uses = uses;
        node->counted = options_.now();
        population_.add(*node);
        table_.link(std::move(node));
    }
    counters_.insertions += fresh.size();
    show_sums_locked();
}

void BlockCache::make_room_locked(std::span<const Item* const> items) {
    std::size_t cost = 0;
    std::vector<const void*> segments;
    for (const Item* const item : items) {
        cost += cost_of(item->part);
        if (item->part.segment != nullptr) segments.push_back(item->part.segment);
    }
    const std::size_t capacity = options_.capacity_bytes;
    if (population_.bytes() + cost > capacity) {
        const std::size_t goal = capacity / 10 * 9;
        while (population_.bytes() != 0 && population_.bytes() + cost > goal)
            evict_locked(*population_.victim(options_.now()));
    }
    while (population_.segments() != 0 && population_.segments_with(segments) > options_.segments)
        evict_locked(*population_.segment_victim(options_.now()));
    table_.retire();
}

void BlockCache::evict_locked(CacheNode& node) {
    remove_locked(node);
    ++counters_.evictions;
    full_.store(true, std::memory_order_relaxed);
}

void BlockCache::remove_locked(CacheNode& node) {
    population_.remove(node);
    table_.unlink(node);
}

void BlockCache::show_sums_locked() {
    bytes_.store(population_.bytes(), std::memory_order_relaxed);
    segments_.store(population_.segments(), std::memory_order_relaxed);
}

void BlockCache::forget(std::span<const BlockHash> hashes) {
    std::vector<CacheKey> keys;
    for (const BlockHash& hash : hashes) {
        // A load that has been marked may be about to insert: the lock decides who comes first.
        const bool loading = loads_.forget(hash);
        for (const BlockPart part : kBlockParts) {
            const CacheKey key{hash, part};
            if (loading || table_.contains(key)) keys.push_back(key);
        }
    }
    if (keys.empty()) return;
    const Exclusive exclusive(*this);
    for (const CacheKey& key : keys) {
        if (CacheNode* const node = table_.locate(key)) remove_locked(*node);
    }
    table_.retire();
    show_sums_locked();
}

BlockCacheCounters BlockCache::counters() const {
    BlockCacheCounters counters;
    {
        const MutexLock lock(mutex_);
        counters = counters_;
        counters.parts = population_.count();
        counters.bytes = population_.bytes();
        counters.segments = population_.segments();
    }
    counters.hits = table_.hits();
    counters.misses = misses_.load(std::memory_order_relaxed);
    counters.joined_loads = loads_.joined();
    counters.waits = waits_.load(std::memory_order_relaxed);
    return counters;
}

}  // namespace blockpub
