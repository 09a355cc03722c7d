// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/sha256.hpp"

#include <cstddef>
#include <vector>

namespace blockpub {

/// A merkle tree with all its nodes: level 0 has the leaves, the last the root.
/// Thread safety: immutable after construction.
class MerkleTree {
 public:
    MerkleTree() = default;
    explicit MerkleTree(std::vector<Digest256> leaves);

    [[nodiscard]] std::size_t leaf_count() const { return levels_.empty() ? 0 : levels_.front().size(); }
    /// Levels above the leaves.
    [[nodiscard]] std::size_t height() const { return levels_.empty() ? 0 : levels_.size() - 1; }
    /// Requires: there is such a node.
    [[nodiscard]] const Digest256& node(std::size_t level, std::size_t position) const {
        return levels_[level][position];
    }

 private:
    std::vector<std::vector<Digest256>> levels_;
};

}  // namespace blockpub
