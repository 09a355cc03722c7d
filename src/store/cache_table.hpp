// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "store/read_epochs.hpp"

#include <blockpub/hash.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace blockpub {

/// What of a block the cache keeps, each by itself.
enum class BlockPart : std::uint8_t {
    raw,     ///< its bytes on the heap
    mapped,  ///< its bytes in their segment's map
    facts,   ///< ids and offsets of its transactions, and figures
    undo,    ///< the coins that it spent
};
inline constexpr BlockPart kBlockParts[] = {BlockPart::raw, BlockPart::mapped, BlockPart::facts,
                                            BlockPart::undo};

struct CacheKey {
    BlockHash hash;
    BlockPart part = BlockPart::raw;
    friend bool operator==(const CacheKey&, const CacheKey&) = default;
};

struct CacheKeyHash {
    [[nodiscard]] std::size_t operator()(const CacheKey& key) const {
        return std::hash<BlockHash>{}(key.hash) ^
               ((static_cast<std::size_t>(key.part) + 1) * 0x9e3779b97f4a7c15);
    }
};

/// A part of a block as the cache holds it.
struct CachedPart {
    std::shared_ptr<const void> object;
    std::size_t bytes = 0;          ///< memory that it keeps from being freed
    const void* segment = nullptr;  ///< the open segment that it keeps open; null: none
};

/// One part in the table.
/// Ownership: the table's; readers get the part by one of several counts of references, so that those on
/// different processors do not write to the same one.
struct CacheNode {
    using Time = std::chrono::steady_clock::time_point;
    struct alignas(64) Handle {
        std::shared_ptr<const void> object;
        mutable std::atomic<std::uint32_t> uses{0};
    };

    CacheNode(const CacheKey& of, const CachedPart& part, std::size_t copies);
    /// What a part costs beside its own bytes.
    [[nodiscard]] static std::size_t overhead(std::size_t copies);
    /// How often it has been used, what is long past counting less; `half_life` must be the same in all
    /// calls.
    std::uint64_t count_uses(Time now, Time::duration half_life);

    const CacheKey key;
    const std::size_t bytes;  ///< with the overhead
    const void* const segment;
    std::vector<std::shared_ptr<const Handle>> handles;
    std::atomic<CacheNode*> next{nullptr};

    // The writer's.
    std::size_t position = 0;  ///< among those that it chooses victims from
    std::uint64_t uses = 0;
    Time counted;
};

/// The parts by key: readers look up without a lock, one writer at a time changes.
///
/// Thread safety: `find`, `contains`, `hits` and `reclaim` from any thread; the others from one at a time.
/// Blocking: never.
class CacheTable {
 public:
    /// `buckets` and `copies` are rounded up to powers of two.
    CacheTable(std::size_t buckets, std::size_t copies, unsigned processors);
    ~CacheTable();
    CacheTable(const CacheTable&) = delete;
    CacheTable& operator=(const CacheTable&) = delete;

    /// Counted as a use and a hit. Null when it is not there.
    [[nodiscard]] std::shared_ptr<const void> find(const CacheKey& key);
    [[nodiscard]] bool contains(const CacheKey& key);
    [[nodiscard]] std::uint64_t hits() const { return epochs_.hits(); }
    [[nodiscard]] std::size_t copies() const { return copies_; }

    /// Null when it is not there.
    [[nodiscard]] CacheNode* locate(const CacheKey& key) const;
    /// Requires: no such key is there.
    void link(std::unique_ptr<CacheNode> node);
    /// Requires: it is there. It is kept, out of sight, until reclaim().
    void unlink(CacheNode& node);
    /// After the last unlink of a change, at the latest before the table is changed again.
    void retire() BLOCKPUB_EXCLUDES(retired_mutex_);
    /// Frees what was retired and no reader can hold.
    void reclaim() BLOCKPUB_EXCLUDES(retired_mutex_);

 private:
    using Retired = std::pair<std::uint64_t, std::unique_ptr<CacheNode>>;  // with the epoch of its end

    [[nodiscard]] std::atomic<CacheNode*>& bucket(const CacheKey& key) const {
        return buckets_[CacheKeyHash{}(key)&mask_];
    }
    [[nodiscard]] static CacheNode* walk(CacheNode* node, const CacheKey& key);

    ReadEpochs epochs_;
    const std::size_t mask_;
    const std::size_t copies_;
    const std::unique_ptr<std::atomic<CacheNode*>[]> buckets_;
    std::vector<std::unique_ptr<CacheNode>> unlinked_;  // the writer's
    Mutex retired_mutex_;
    std::vector<Retired> retired_ BLOCKPUB_GUARDED_BY(retired_mutex_);
};

}  // namespace blockpub
