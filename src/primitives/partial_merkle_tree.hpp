// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/merkle_tree.hpp"
#include "primitives/reader.hpp"
#include "primitives/sha256.hpp"

#include <blockpub/bytes.hpp>

#include <cstdint>
#include <vector>

namespace blockpub {

/// The part of a merkle tree that proves some of its leaves: the hashes beside the ways to them, and a bit
/// for each node visited. Source: BIP 37, "Partial Merkle branch format"; Bitcoin Core v28
/// src/merkleblock.cpp.
struct PartialMerkleTree {
    std::uint32_t leaf_count = 0;
    std::vector<Digest256> hashes;    ///< depth first
    std::vector<std::uint8_t> flags;  ///< bits, least significant first
};

/// Proves the leaves whose flag is set. Requires: as many flags as the tree has leaves, and at least one.
[[nodiscard]] PartialMerkleTree prove_leaves(const MerkleTree& tree, const std::vector<bool>& wanted);

/// Appends count, hashes and flags as they are serialized.
void encode_partial_merkle_tree(const PartialMerkleTree& tree, std::vector<std::uint8_t>& out);
/// Reads one at the reader's position; the reader fails for bytes that end within it.
[[nodiscard]] PartialMerkleTree decode_partial_merkle_tree(ByteReader& reader);

/// What a partial tree proves.
struct ProvenLeaves {
    Digest256 root{};  ///< zero for a tree that proves nothing
    std::vector<Digest256> leaves;
};
/// Result: a root of zero, and no leaves, for a tree that is not consistent.
[[nodiscard]] ProvenLeaves check_proof(const PartialMerkleTree& tree);

}  // namespace blockpub
