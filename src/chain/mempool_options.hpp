// SPDX-License-Identifier: MIT
#pragma once

#include "base/clock.hpp"
#include "chain/mempool_graph.hpp"
#include "primitives/chain_params.hpp"
#include "primitives/fee_rate.hpp"

#include <blockpub/logger.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace blockpub {

class CoinStore;

/// What the mempool takes and how much of it; the options of bitcoind that bear the names given here.
struct MempoolPolicy {
    bool require_standard = true;  ///< `-acceptnonstdtxn=0`
    bool full_replacement = true;  ///< `-mempoolfullrbf`
    bool permit_bare_multisig = true;
    std::optional<std::size_t> max_datacarrier_bytes = 83;
    unsigned bytes_per_sigop = 20;
    FeeRate min_relay{1000};     ///< `-minrelaytxfee`
    FeeRate incremental{1000};   ///< `-incrementalrelayfee`
    FeeRate dust_relay{3000};    ///< `-dustrelayfee`
    MempoolFamilyLimits limits;  ///< `-limitancestorcount` and the like
};

struct MempoolOptions {
    const ChainParams* params = nullptr;
    const CoinStore* coins = nullptr;
    const Clock* clock = nullptr;
    Logger* logger = nullptr;  ///< may be null
    MempoolPolicy policy;
    std::size_t max_bytes = 300'000'000;  ///< of memory (`-maxmempool`)
    std::chrono::seconds expiry{336 * 60 * 60};
    std::size_t disconnected_bytes = 20'000'000;  ///< of transactions that a step takes out of blocks
};

}  // namespace blockpub
