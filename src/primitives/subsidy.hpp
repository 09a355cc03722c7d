// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/chain_params.hpp"
#include "primitives/transaction.hpp"

#include <blockpub/hash.hpp>

namespace blockpub {

/// New coins that the block at `height` may make, in satoshi. Source: Bitcoin Core, GetBlockSubsidy.
[[nodiscard]] inline Amount block_subsidy(Height height, const ChainParams& params) {
    const std::uint32_t halvings = height.value / params.halving_interval;
    // A shift by 64 or more is undefined, and there is nothing left long before.
    return halvings >= 64 ? 0 : (50 * kCoin) >> halvings;
}

}  // namespace blockpub
