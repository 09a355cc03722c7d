// SPDX-License-Identifier: MIT
#pragma once

#include "chain/header_tree.hpp"
#include "primitives/chain_params.hpp"

#include <blockpub/hash.hpp>

#include <span>
#include <string_view>

namespace blockpub {

/// A block that the chain is known to have: once its header is here, none is taken that forks off below it.
struct Checkpoint {
    Height height;
    std::string_view hash;  ///< display order
};

/// The checkpoints of a chain, lowest first.
/// Source: Bitcoin Core v28.1 src/kernel/chainparams.cpp, checkpointData.
[[nodiscard]] std::span<const Checkpoint> checkpoints(ChainKind kind);

/// Height of the highest checkpoint that is in the tree; 0 when none is.
/// Thread safety: chain thread only.
[[nodiscard]] Height last_checkpoint(const HeaderTree& tree, ChainKind kind);

}  // namespace blockpub
