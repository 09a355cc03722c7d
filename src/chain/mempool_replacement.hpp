// SPDX-License-Identifier: MIT
#pragma once

#include "chain/mempool_graph.hpp"
#include "chain/mempool_outcome.hpp"
#include "primitives/fee_rate.hpp"

#include <cstdint>
#include <optional>
#include <string>

// When a transaction may take the place of others in the mempool.
// Source: Bitcoin Core v28.1 src/policy/rbf.cpp; BIP 125.

namespace blockpub {

/// What is to be replaced, and by what.
struct Replacement {
    const MempoolTransaction* transaction = nullptr;
    Amount modified_fee = 0;
    std::int64_t vsize = 0;
    bool evicts_sibling = false;
    MempoolEntrySet direct;  ///< the entries whose coins it spends, and an evicted sibling
};

/// Holds one transaction to the rules; on success `all` has everything that must leave.
[[nodiscard]] std::optional<TransactionRefusal> check_replacement(const MempoolGraph& graph,
                                                                  const Replacement& replacement,
                                                                  FeeRate incremental, MempoolEntrySet& all);

/// Collects the entries with all that depends on them. Result: Core's words when those are too many.
[[nodiscard]] std::optional<std::string> collect_replaced(const MempoolGraph& graph, const Txid& txid,
                                                          const MempoolEntrySet& direct,
                                                          MempoolEntrySet& all);

/// Whether `fee` pays for what leaves and for relaying `vsize` more bytes. Result: Core's words when not.
[[nodiscard]] std::optional<std::string> pays_for_replacement(const MempoolEntrySet& all, Amount fee,
                                                              std::int64_t vsize, FeeRate incremental,
                                                              const Txid& txid);

/// Whether a block's worth of transactions is worth more, at any size, once `fee` at `vsize` has taken the
/// place of `all`. Result: Core's words when not, or when the families are too tangled to tell.
[[nodiscard]] std::optional<std::string> improves_mempool(const MempoolEntrySet& direct,
                                                          const MempoolEntrySet& all, Amount fee,
                                                          std::int64_t vsize);

}  // namespace blockpub
