// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/outpoint_index.hpp"
#include "store/coin_memtable.hpp"
#include "store/coin_store.hpp"

#include <cstddef>
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
    /// Where an outpoint occurs twice the later change counts.
    CoinLayer(std::vector<CoinChange> changes, StepNumber step);

    [[nodiscard]] std::span<const CoinChange> changes() const { return changes_; }
    [[nodiscard]] StepNumber step() const { return step_; }
    /// Null when the step did not change it.
    [[nodiscard]] const CoinChange* find(const Outpoint& outpoint) const;
    /// The changes of one of CoinMemtable's shards, in key order.
    [[nodiscard]] std::vector<CoinMemtable::Row> sorted_shard(std::size_t shard) const;

 private:
    std::vector<CoinChange> changes_;
    StepNumber step_;
    OutpointIndex index_;  // to positions in changes_
};

/// The oldest first.
using CoinLayers = std::vector<std::shared_ptr<const CoinLayer>>;

}  // namespace blockpub
