// SPDX-License-Identifier: MIT
#pragma once

#include "chain/mempool_graph.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

// Topologically restricted transactions, those of version 3 (BIP 431): at most one unconfirmed parent or
// child, and small. Source: Bitcoin Core v28.1 src/policy/truc_policy.cpp.

namespace blockpub {

inline constexpr std::uint32_t kTrucVersion = 3;

struct TrucViolation {
    std::string details;
    /// The parent's other child, where it is enough that this one replaces it; else null.
    MempoolEntry* sibling = nullptr;
};

/// `ancestors`: all that the transaction depends on; `conflicts`: what it would replace.
[[nodiscard]] std::optional<TrucViolation> check_truc(const MempoolTransaction& transaction,
                                                      std::int64_t vsize, const MempoolGraph& graph,
                                                      const MempoolEntrySet& ancestors,
                                                      const MempoolEntrySet& conflicts);

/// The same for one transaction of a package, which is sorted. Result: details; nothing when all is well.
[[nodiscard]] std::optional<std::string> check_truc_in_package(const MempoolTransaction& transaction,
                                                               std::int64_t vsize,
                                                               std::span<const TransactionRef> package,
                                                               const MempoolEntrySet& ancestors);

}  // namespace blockpub
