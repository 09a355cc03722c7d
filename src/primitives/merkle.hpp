// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/block.hpp"
#include "primitives/sha256.hpp"

#include <optional>
#include <vector>

namespace blockpub {

struct MerkleResult {
    Digest256 root{};
    /// Two equal neighbours were hashed: the list may have been padded (CVE-2012-2459).
    bool mutated = false;
};

/// Root over `leaves`, which are used up. The root of nothing is zero.
/// Source: Bitcoin Core src/consensus/merkle.cpp, ComputeMerkleRoot.
[[nodiscard]] MerkleResult merkle_root(std::vector<Digest256> leaves);

/// Root over the block's txids.
[[nodiscard]] MerkleResult block_merkle_root(const ParsedBlock& block);
/// Root over the block's wtxids, the coinbase's taken as zero (BIP 141).
[[nodiscard]] Digest256 block_witness_merkle_root(const ParsedBlock& block);
/// The same from the bytes that begin with a block. Errors: corrupt.
[[nodiscard]] Result<Digest256> witness_merkle_root(ByteSpan raw);
/// Position of the coinbase output that commits to the witnesses: the last that matches. (BIP 141)
[[nodiscard]] std::optional<std::size_t> witness_commitment_output(const TransactionView& coinbase);

}  // namespace blockpub
