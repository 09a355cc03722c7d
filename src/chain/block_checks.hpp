// SPDX-License-Identifier: MIT
#pragma once

#include "chain/header_tree.hpp"
#include "chain/verdict.hpp"
#include "chain/witness_root_ahead.hpp"
#include "primitives/block.hpp"
#include "primitives/chain_params.hpp"

namespace blockpub {

/// The rules of a block that need neither ancestors nor coins nor scripts, in Core's order: proof of work,
/// merkle root and its malleation, size, coinbase, each transaction by itself, legacy signature operations.
///
/// A signet block's own signature is a script and is not checked (see docs/architecture.md).
/// Thread safety: from any thread.
/// Source: Bitcoin Core v28.1 src/validation.cpp, CheckBlock; src/consensus/tx_check.cpp, CheckTransaction.
[[nodiscard]] Verdict check_block_context_free(const ParsedBlock& block, const ChainParams& params,
                                               bool check_proof_of_work = true);

/// Whether the transactions of a block, and its witnesses where it has some, are those that its header
/// commits to: true of every block that was accepted, as long as its bytes are what they were. Thread safety:
/// from any thread.
[[nodiscard]] bool body_matches_header(const ParsedBlock& block);

/// A block with the outcome of every check that needs no ancestor: what costs time is done on the thread that
/// has the block, and the chain thread only looks at it. Thread safety: immutable after check.
struct CheckedBlock {
    ParsedBlock block;
    Verdict context_free;
    Verdict witness;  ///< where segwit is in force; empty, and not looked at, when context_free is not

    /// `ahead`, where there is one, was given this block's bytes, and saves hashing them.
    [[nodiscard]] static CheckedBlock check(ParsedBlock block, const ChainParams& params,
                                            bool check_proof_of_work = true,
                                            WitnessRootAhead* ahead = nullptr);
    /// The same block with another witness of its coinbase. Requires: context_free is empty.
    [[nodiscard]] static CheckedBlock with_completed_coinbase(ParsedBlock block);
};

/// The rules of a block that depend on its ancestors' headers: finality, height in the coinbase, witness
/// commitment, weight. Requires: block.context_free is empty. Thread safety: chain thread only. Source:
/// Bitcoin Core v28.1 src/validation.cpp, ContextualCheckBlock.
[[nodiscard]] Verdict check_block_in_context(const CheckedBlock& block, const HeaderNode& parent,
                                             const ChainParams& params);

}  // namespace blockpub
