// SPDX-License-Identifier: MIT
#pragma once

#include "chain/mempool_options.hpp"
#include "daemon/settings.hpp"
#include "primitives/chain_params.hpp"

#include <blockpub/result.hpp>

#include <chrono>
#include <cstddef>

namespace blockpub {

/// The mempool as configured; what the fields mean stands with the options of bitcoind's names.
struct MempoolSettings {
    MempoolPolicy policy;
    std::size_t max_bytes = 300'000'000;
    std::chrono::seconds expiry{336 * 60 * 60};
    bool persist = true;
};

/// Errors: invalid_argument, in bitcoind's words where it has some.
[[nodiscard]] Result<MempoolSettings> read_mempool_settings(const Settings& settings,
                                                            const ChainParams& params);

}  // namespace blockpub
