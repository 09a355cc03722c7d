// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/outpoint_index.hpp"
#include "store/coin_memtable.hpp"
#include "store/coin_store.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace blockpub {

/// The changes of one of the newest steps, found by outpoint, over the generations: readers have them at
/// once, and the writer puts them into a generation when it has time.
///
/// Thread safety: immutable.
class CoinLayer {
 public:
    /// Where an outpoint occurs twice the later change counts. `total` counts the bytes of all layers and
    /// generations; it must outlive them.
    CoinLayer(std::vector<CoinChange> changes, StepNumber step, std::atomic<std::uint64_t>& total);
    CoinLayer(const CoinLayer&) = delete;
    CoinLayer& operator=(const CoinLayer&) = delete;
    ~CoinLayer();

    [[nodiscard]] std::span<const CoinChange> changes() const { return changes_; }
    [[nodiscard]] StepNumber step() const { return step_; }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    /// Null when the step did not change it.
    [[nodiscard]] const CoinChange* find(const Outpoint& outpoint) const;
    /// The changes of one of CoinMemtable's shards, in key order.
    [[nodiscard]] std::vector<CoinMemtable::Row> sorted_shard(std::size_t shard) const;

 private:
    std::vector<CoinChange> changes_;
    StepNumber step_;
    OutpointIndex index_;  // to positions in changes_
    std::uint64_t bytes_ = 0;
    std::atomic<std::uint64_t>& total_;
};

/// The oldest first.
using CoinLayers = std::vector<std::shared_ptr<const CoinLayer>>;

}  // namespace blockpub
