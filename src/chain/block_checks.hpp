// SPDX-License-Identifier: MIT
#pragma once

#include "chain/header_tree.hpp"
#include "chain/verdict.hpp"
#include "primitives/block.hpp"
#include "primitives/chain_params.hpp"

namespace blockpub {

/// The rules of a block that need neither ancestors nor coins nor scripts, in Core's order: proof of work,
/// merkle root and its malleation, size, coinbase, each transaction by itself, legacy signature operations.
///
/// A signet block's own signature is a script and is not checked (see docs/architecture.md).
/// Thread safety: from any thread; made to run on the thread that parsed the block.
/// Source: Bitcoin Core v28.1 src/validation.cpp, CheckBlock; src/consensus/tx_check.cpp, CheckTransaction.
[[nodiscard]] Verdict check_block_context_free(const ParsedBlock& block, const ChainParams& params,
                                               bool check_proof_of_work = true);

/// The rules of a block that depend on its ancestors' headers: finality, height in the coinbase, witness
/// commitment, weight. Requires: check_block_context_free found nothing. Thread safety: chain thread only.
/// Source: Bitcoin Core v28.1 src/validation.cpp, ContextualCheckBlock.
[[nodiscard]] Verdict check_block_in_context(const ParsedBlock& block, const HeaderNode& parent,
                                             const ChainParams& params);

}  // namespace blockpub
