// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/hash.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace blockpub {

struct HeaderNode;

/// Header nodes by block hash, in one open table that holds the beginnings of the hashes: a look-up touches
/// one line of it, and a node only where it is the right one.
///
/// Thread safety: as a container of the standard library.
/// Ownership: borrows the nodes.
class HeaderIndex {
 public:
    /// Null when there is none.
    [[nodiscard]] HeaderNode* find(const BlockHash& hash) const;
    /// Result: false, and nothing changed, when a node with this hash is there already.
    [[nodiscard]] bool insert(HeaderNode& node);
    /// Makes room for so many nodes at once.
    void reserve(std::size_t count);

 private:
    struct Slot {
        std::uint64_t prefix = 0;
        HeaderNode* node = nullptr;  ///< null: free
    };

    /// The slot of the hash, or the free one where it would go. Requires: a free slot.
    [[nodiscard]] std::size_t probe(const BlockHash& hash) const;
    void resize(std::size_t slots);

    std::vector<Slot> slots_;  // a power of two, or none
    std::size_t count_ = 0;
};

}  // namespace blockpub
