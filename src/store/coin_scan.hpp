// SPDX-License-Identifier: MIT
#pragma once

#include "store/coin_layer.hpp"
#include "store/coin_memtable.hpp"
#include "store/coin_table.hpp"

#include <cstddef>
#include <functional>

namespace blockpub {

/// Which shards a scan visits: those from `first` to before `end`.
struct ShardRange {
    std::size_t first = 0;
    std::size_t end = CoinMemtable::kShards;
};

/// Visits the coins that a reader of `step` sees, in key order: the table, the generations and the layers
/// over it merged shard by shard, what is spent left out. Holds one shard's changes in memory at a time.
/// Requires: `reading` is as new as the state that all else was taken from. `frozen` may be null. Errors:
/// those of `visit` end the scan; corrupt, io.
[[nodiscard]] Result<void> scan_coins(const CoinTable::Reading& reading, const CoinMemtable* frozen,
                                      const CoinMemtable& active, const CoinLayers& layers, StepNumber step,
                                      ShardRange shards,
                                      const std::function<Result<void>(const Outpoint&, const Coin&)>& visit);

}  // namespace blockpub
