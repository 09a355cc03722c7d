// SPDX-License-Identifier: MIT
#include "primitives/partial_merkle_tree.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <vector>

using namespace blockpub;

// A proof from outside: whatever it claims, what it proves is what the same leaves prove when they are proven
// again. The first byte and the count choose a tree of our own, whose proof must come back whole.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    ByteReader reader(ByteSpan(bytes, size));
    const PartialMerkleTree proof = decode_partial_merkle_tree(reader);
    if (reader.ok()) {
        std::vector<std::uint8_t> again;
        encode_partial_merkle_tree(proof, again);
        BLOCKPUB_CHECK(std::ranges::equal(again, ByteSpan(bytes, reader.position())));
        const ProvenLeaves proven = check_proof(proof);
        BLOCKPUB_CHECK(proven.leaves.size() <= proof.leaf_count);
    }
    if (size == 0) return 0;
    const std::size_t count = 1 + bytes[0] % 40;
    std::vector<Digest256> leaves(count);
    std::vector<bool> wanted(count);
    std::vector<Digest256> expected;
    for (std::size_t i = 0; i < count; ++i) {
        leaves[i][0] = static_cast<std::uint8_t>(i + 1);
        wanted[i] = (bytes[(i + 1) % size] & 1) != 0;
        if (wanted[i]) expected.push_back(leaves[i]);
    }
    if (expected.empty()) return 0;
    const MerkleTree tree(leaves);
    const ProvenLeaves own = check_proof(prove_leaves(tree, wanted));
    BLOCKPUB_CHECK(own.root == tree.node(tree.height(), 0) && own.leaves == expected);
    return 0;
}
