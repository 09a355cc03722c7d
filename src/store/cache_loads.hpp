// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "store/cache_table.hpp"

#include <blockpub/result.hpp>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <variant>

namespace blockpub {

/// The loads under way: who misses what somebody else is loading waits for that load.
///
/// Thread safety: every method from any thread.
/// Blocking: `enter` waits for a load that it joins, without a lock held, and for nothing else.
class CacheLoads {
 public:
    /// A load; of the thread that entered first, until it leaves.
    struct Load {
        std::optional<Result<CachedPart>> result;  // set once, under the shard's mutex
        CondVar done;
        std::atomic<bool> forgotten{false};  ///< must not be kept: what it read is out of date
    };
    using LoadPtr = std::shared_ptr<Load>;
    using Object = std::shared_ptr<const void>;
    /// What became of entering: the part was there after all; the result of another's load; a load to make.
    using Entered = std::variant<Object, Result<CachedPart>, LoadPtr>;

    /// `find` looks into the table once more, where what ended meanwhile is found; null when it is not there.
    [[nodiscard]] Entered enter(const CacheKey& key, const std::function<Object()>& find);
    /// Gives the result to those who wait. A failed load is left with it.
    void finish(const CacheKey& key, const LoadPtr& load, Result<CachedPart> result);
    /// After what was loaded is in the table, or will not be.
    void leave(const CacheKey& key, const LoadPtr& load);
    /// Later calls load anew, and what is being loaded will not be kept. Result: whether there was such a
    /// load.
    bool forget(const BlockHash& hash);
    /// Calls that have waited, or wait, for another's load.
    [[nodiscard]] std::uint64_t joined() const { return joined_.load(std::memory_order_relaxed); }

 private:
    static constexpr std::size_t kShards = 16;
    /// Guards the loads of its share of the blocks, and their results.
    struct alignas(64) Shard {
        Mutex mutex;
        std::unordered_map<CacheKey, LoadPtr, CacheKeyHash> loads BLOCKPUB_GUARDED_BY(mutex);
    };

    [[nodiscard]] Shard& shard_of(const BlockHash& hash) {
        return shards_[std::hash<BlockHash>{}(hash) % kShards];
    }

    std::array<Shard, kShards> shards_;
    std::atomic<std::uint64_t> joined_{0};
};

}  // namespace blockpub
