// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "store/cache_loads.hpp"
#include "store/cache_population.hpp"
#include "store/cache_table.hpp"

#include <blockpub/hash.hpp>
#include <blockpub/result.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace blockpub {

/// Of everything since the start, but for what is there just now.
struct BlockCacheCounters {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;        ///< asked for and not there; those that joined a load too
    std::uint64_t joined_loads = 0;  ///< waited for another's load
    std::uint64_t insertions = 0;
    std::uint64_t evictions = 0;
    std::uint64_t exclusive_acquisitions = 0;
    std::uint64_t waits = 0;     ///< acquisitions that had to wait for another
    std::uint64_t parts = 0;     ///< there now
    std::uint64_t bytes = 0;     ///< that they keep from being freed
    std::uint64_t segments = 0;  ///< that they keep open
};

/// Parts of blocks by block hash, reference-counted, shared by all that read blocks.
///
/// A hit takes no lock, and writes to lines of memory of its processor only. The exclusive lock is taken when
/// there is something to insert (once for a batch, with the evictions that it causes) or to forget.
/// Evictions go down to nine tenths of the capacity; the victim is the less used of two random ones, where
/// uses long past count less. When the cache is full, a part that was read is taken in the second time that
/// it is missed: reading the whole chain once leaves it as it was.
/// A type of part T says `static constexpr BlockPart kPart`, `memory()`, and, where it keeps one open,
/// `segment()`; no two types have the same kPart.
///
/// Thread safety: every method from any thread.
/// Blocking: a miss loads, or waits for whoever loads that part; no lock is held over it.
/// Errors: those of the load, for who waited for it; they are not kept.
class BlockCache {
 public:
    using Time = CacheNode::Time;
    struct Options {
        std::size_t capacity_bytes = 0;               ///< 0: nothing is kept
        std::size_t segments = 32;                    ///< that parts may keep open
        std::chrono::milliseconds half_life{60'000};  ///< of a use
        std::uint64_t seed = 0;                       ///< of the choice of victims; 0: some
        std::function<Time()> now = std::chrono::steady_clock::now;
    };
    struct Item {
        CacheKey key;
        CachedPart part;
    };

    explicit BlockCache(Options options);

    /// Null when it is not there, which is not counted as a miss.
    template <class T>
    [[nodiscard]] std::shared_ptr<const T> find(const BlockHash& hash) {
        return std::static_pointer_cast<const T>(table_.find({hash, T::kPart}));
    }

    /// The loads of one piece of work: what they brought is inserted together, when it ends.
    /// Thread safety: one thread at a time. Requires: ends before anybody is kept waiting.
    class Batch {
     public:
        explicit Batch(BlockCache& cache) : cache_(cache) {}
        ~Batch() { cache_.end(loaded_); }
        Batch(const Batch&) = delete;
        Batch& operator=(const Batch&) = delete;

     private:
        friend class BlockCache;
        struct Loaded {
            Item item;
            CacheLoads::LoadPtr load;
            bool again;  ///< has been missed before
        };
        BlockCache& cache_;
        std::vector<Loaded> loaded_;
    };

    /// The part, or what `load` (a Result<std::shared_ptr<const T>>()) gives.
    template <class T, class Load>
    [[nodiscard]] Result<std::shared_ptr<const T>> get(const BlockHash& hash, Load&& load, Batch& batch) {
        if (auto found = find<T>(hash)) return found;
        auto got = load_part(
            {hash, T::kPart},
            [&]() -> Result<CachedPart> {
                Result<std::shared_ptr<const T>> object = load();
                if (!object) return std::unexpected(object.error());
                return part_of(*std::move(object));
            },
            batch);
        if (!got) return std::unexpected(got.error());
        return std::static_pointer_cast<const T>(*std::move(got));
    }
    template <class T, class Load>
    [[nodiscard]] Result<std::shared_ptr<const T>> get(const BlockHash& hash, Load&& load) {
        Batch batch(*this);
        return get<T>(hash, std::forward<Load>(load), batch);
    }

    template <class T>
    [[nodiscard]] static Item item(const BlockHash& hash, std::shared_ptr<const T> object) {
        return {{hash, T::kPart}, part_of(std::move(object))};
    }
    /// Takes the items in, under one acquisition, as far as the capacity goes; what is there already stays.
    /// Frees nothing: what had to go is freed with the next reclaim().
    void insert(std::span<const Item> items) BLOCKPUB_EXCLUDES(mutex_);
    /// Lets go of all parts of the blocks, which are not any more what the store says of them. A load that
    /// began before is not kept.
    void forget(std::span<const BlockHash> hashes) BLOCKPUB_EXCLUDES(mutex_);
    void reclaim() { table_.reclaim(); }

    [[nodiscard]] std::size_t capacity() const { return options_.capacity_bytes; }
    [[nodiscard]] BlockCacheCounters counters() const BLOCKPUB_EXCLUDES(mutex_);

 private:
    class Exclusive;
    using Object = CacheLoads::Object;

    template <class T>
    [[nodiscard]] static CachedPart part_of(std::shared_ptr<const T> object) {
        CachedPart part{.object = nullptr, .bytes = object->memory(), .segment = nullptr};
        if constexpr (requires { object->segment(); }) part.segment = object->segment();
        part.object = std::move(object);
        return part;
    }
    [[nodiscard]] Result<Object> load_part(const CacheKey& key,
                                           const std::function<Result<CachedPart>()>& load, Batch& batch);
    [[nodiscard]] Result<CachedPart> run(const CacheKey& key, const CacheLoads::LoadPtr& load,
                                         const std::function<Result<CachedPart>()>& read);
    /// Whether the key has been missed before, lately.
    [[nodiscard]] bool note_miss(const CacheKey& key);
    /// Whether a part that was read may come in.
    [[nodiscard]] bool admits(const Batch::Loaded& one);
    void end(const std::vector<Batch::Loaded>& loaded) BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] std::size_t cost_of(const CachedPart& part) const;
    void insert_locked(std::span<const Item* const> items, std::uint64_t uses) BLOCKPUB_REQUIRES(mutex_);
    void make_room_locked(std::span<const Item* const> items) BLOCKPUB_REQUIRES(mutex_);
    void evict_locked(CacheNode& node) BLOCKPUB_REQUIRES(mutex_);
    void remove_locked(CacheNode& node) BLOCKPUB_REQUIRES(mutex_);
    void show_sums_locked() BLOCKPUB_REQUIRES(mutex_);

    const Options options_;
    CacheTable table_;
    CacheLoads loads_;
    /// What was missed last, by place of its hash.
    std::array<std::atomic<std::uint64_t>, std::size_t{1} << 14> missed_{};
    std::atomic<bool> full_{false};         ///< there has been no room for something
    std::atomic<std::size_t> bytes_{0};     ///< of the population, for those who do not hold the lock
    std::atomic<std::size_t> segments_{0};  ///< likewise
    std::atomic<std::uint64_t> misses_{0};
    std::atomic<std::uint64_t> waits_{0};

    mutable Mutex mutex_;
    CachePopulation population_ BLOCKPUB_GUARDED_BY(mutex_);
    BlockCacheCounters counters_ BLOCKPUB_GUARDED_BY(mutex_);
};

}  // namespace blockpub
