// SPDX-License-Identifier: MIT
#include "primitives/merkle_tree.hpp"

#include <algorithm>
#include <utility>

namespace blockpub {

MerkleTree::MerkleTree(std::vector<Digest256> leaves) {
    if (leaves.empty()) return;
    levels_.push_back(std::move(leaves));
    while (levels_.back().size() > 1) {
        const std::vector<Digest256>& below = levels_.back();
        std::vector<Digest256> level((below.size() + 1) / 2);
        for (std::size_t i = 0; i < level.size(); ++i)
            level[i] = sha256d_pair(below[2 * i], below[std::min(2 * i + 1, below.size() - 1)]);
        levels_.push_back(std::move(level));
    }
}

}  // namespace blockpub
