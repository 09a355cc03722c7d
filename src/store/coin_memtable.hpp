// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "primitives/coin.hpp"
#include "store/coin_store.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory_resource>
#include <optional>
#include <unordered_map>
#include <vector>

namespace blockpub {

/// Number of a step of the chain, in order; a reader that holds step n sees what steps up to n did.
using StepNumber = std::uint64_t;

/// Key of the `coin` table: txid in wire order, then the position big-endian, so that byte order is the order
/// of scans.
using CoinKey = std::array<std::uint8_t, 36>;

[[nodiscard]] CoinKey coin_key(const Outpoint& outpoint);
/// Requires: key.size() == 36.
[[nodiscard]] Outpoint coin_outpoint(ByteSpan key);

/// Counts the bytes that memtables take from the heap, over all of them.
class CountingResource final : public std::pmr::memory_resource {
 public:
    explicit CountingResource(std::atomic<std::uint64_t>& total) : total_(total) {}
    [[nodiscard]] std::uint64_t bytes() const noexcept { return own_.load(std::memory_order_relaxed); }

 private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override;
    void do_deallocate(void* pointer, std::size_t bytes, std::size_t alignment) override;
    [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
        return this == &other;
    }

    std::atomic<std::uint64_t>& total_;
    std::atomic<std::uint64_t> own_{0};
};

/// One generation of changes to coins: for each outpoint the values it had, each with the step that gave it.
///
/// Readers of different steps look into the same table. A value that no reader can want any more is freed; a
/// coin that was made and spent within one generation, and that nothing below knows, leaves no trace.
///
/// Thread safety: `put` and `release_superseded` from one thread at a time (the writer's); everything else
/// from any thread. Sharded by the first byte of the txid, which is also the order of scans. Blocking: a
/// shard's mutex, held for one look-up or for the copy of one shard.
class CoinMemtable {
 public:
    static constexpr std::size_t kShards = 256;

    /// A value below which nothing need be looked up: empty when the coin is spent.
    using Found = std::optional<Coin>;
    struct Row {
        CoinKey key;
        std::vector<std::uint8_t> encoded;  ///< empty: spent
        bool fresh = false;                 ///< nothing below knows the coin
    };

    /// `total` counts the bytes of all generations; it must outlive them.
    explicit CoinMemtable(std::atomic<std::uint64_t>& total) : counting_(total) {}
    CoinMemtable(const CoinMemtable&) = delete;
    CoinMemtable& operator=(const CoinMemtable&) = delete;

    /// Gives the outpoint a value from `step` on. Requires: no earlier call had a higher step.
    void put(const CoinChange& change, StepNumber step);
    /// Frees what readers of `oldest_reader` and later steps cannot see.
    void release_superseded(StepNumber oldest_reader);
    /// The value as of `step`; nothing when this generation does not know the outpoint.
    [[nodiscard]] std::optional<Found> find(const Outpoint& outpoint, StepNumber step) const;
    /// All that readers of `step` see of one shard, in key order.
    [[nodiscard]] std::vector<Row> sorted_shard(std::size_t shard, StepNumber step) const;
    [[nodiscard]] std::uint64_t bytes() const noexcept { return counting_.bytes(); }
    [[nodiscard]] bool empty() const noexcept { return changes_.load(std::memory_order_relaxed) == 0; }

 private:
    struct Version;
    using Versions = std::pmr::unordered_map<Outpoint, Version*, OutpointHash>;
    struct Shard {
        explicit Shard(std::pmr::memory_resource* upstream)
            : pool({.max_blocks_per_chunk = 256, .largest_required_pool_block = 256}, upstream),
              newest(&pool) {}
        mutable Mutex mutex;
        std::pmr::unsynchronized_pool_resource pool BLOCKPUB_GUARDED_BY(mutex);
        Versions newest BLOCKPUB_GUARDED_BY(mutex);
    };
    struct Superseded {
        StepNumber since;
        Outpoint outpoint;
    };

    [[nodiscard]] Shard& shard_of(const Outpoint& outpoint) const;
    [[nodiscard]] static const Version* visible(const Version* newest, StepNumber step);
    static void free_version(Shard& shard, Version* version) BLOCKPUB_REQUIRES(shard.mutex);

    CountingResource counting_;
    mutable std::deque<Shard> shards_ = make_shards();
    std::atomic<std::uint64_t> changes_{0};
    std::deque<Superseded> superseded_;  // only on the writer's thread

    [[nodiscard]] std::deque<Shard> make_shards();
};

}  // namespace blockpub
