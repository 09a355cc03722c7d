// SPDX-License-Identifier: MIT
#pragma once

#include "chain/header_index.hpp"
#include "primitives/header.hpp"
#include "primitives/work.hpp"

#include <blockpub/hash.hpp>
#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace blockpub {

/// A BlobPlace that may be absent, in 16 bytes: there is one for every header.
struct PackedPlace {
    std::uint64_t number = 0;
    std::uint32_t segment = 0;
    std::uint32_t size = 0;  ///< 0: absent (no blob is empty)

    PackedPlace() = default;
    explicit PackedPlace(const std::optional<BlobPlace>& place) {
        if (place) *this = PackedPlace(*place);
    }
    explicit PackedPlace(const BlobPlace& place)
        : number(place.number), segment(place.segment), size(place.size) {}
    [[nodiscard]] bool present() const { return size != 0; }
    [[nodiscard]] std::optional<BlobPlace> place() const {
        if (!present()) return std::nullopt;
        return BlobPlace{.segment = segment, .number = number, .size = size};
    }
};

/// One known header and its place in the tree; what a HeaderRecord holds, and links.
/// Thread safety: chain thread only.
struct HeaderNode {
    BlockHash hash;
    HeaderNode* previous = nullptr;
    HeaderNode* skip = nullptr;  ///< an ancestor further back, so that any is found in a logarithm of steps
    HeaderNode* first_child = nullptr;
    HeaderNode* next_sibling = nullptr;
    Uint256 chainwork;
    MerkleRoot merkle_root;
    std::int32_t version = 0;
    std::uint32_t time = 0;
    std::uint32_t bits = 0;
    std::uint32_t nonce = 0;
    Height height;
    std::uint32_t status = 0;  ///< bits of HeaderRecord::Status
    std::uint64_t arrival = 0;
    /// Decides between equal work, the lower the better. The arrival, but for a block made precious
    /// (negative) and the tip that a start found in the store (zero): both outlive what came earlier.
    std::int64_t sequence = 0;
    std::uint64_t chain_tx_count = 0;
    PackedPlace block;
    PackedPlace undo;
    PackedPlace facts;
    std::uint32_t tx_count = 0;
    bool changed = false;  ///< the store's record is behind

    [[nodiscard]] bool failed() const {
        return (status & (HeaderRecord::kFailed | HeaderRecord::kFailedChild)) != 0;
    }
    /// The block was here and has been given up.
    [[nodiscard]] bool pruned() const { return (status & HeaderRecord::kPruned) != 0; }
    [[nodiscard]] bool connected_once() const { return (status & HeaderRecord::kConnected) != 0; }
    /// The block and all its ancestors have been received. (Core's HaveNumChainTxs)
    [[nodiscard]] bool linked() const { return (status & HeaderRecord::kHasChain) != 0; }
    [[nodiscard]] BlockHeader header() const;
    [[nodiscard]] HeaderRecord record() const;
    /// Requires: wanted <= height.
    [[nodiscard]] HeaderNode* ancestor(Height wanted);
    [[nodiscard]] const HeaderNode* ancestor(Height wanted) const;
    /// Median of the times of this block and the ten before it: what the next block's time must exceed.
    [[nodiscard]] std::int64_t median_time_past() const;
};

/// Whether `a` is the worse tip: less work, or as much and seen later. A total order over distinct nodes.
[[nodiscard]] bool is_worse(const HeaderNode& a, const HeaderNode& b);

/// Last block common to the branches of `a` and `b`. Requires: one tree.
[[nodiscard]] HeaderNode* last_common_ancestor(HeaderNode* a, HeaderNode* b);

/// All headers that are known, as a tree over genesis.
///
/// Thread safety: chain thread only.
/// Ownership: nodes live as long as the tree and never move.
/// Source: Bitcoin Core v28.1 src/chain.h, CBlockIndex.  Differs: children are linked too.
class HeaderTree {
 public:
    HeaderTree() = default;
    HeaderTree(const HeaderTree&) = delete;
    HeaderTree& operator=(const HeaderTree&) = delete;

    [[nodiscard]] HeaderNode* find(const BlockHash& hash) const;
    /// Adds a header. Requires: its hash is new; `previous` is null for genesis only.
    HeaderNode& insert(const BlockHeader& header, const BlockHash& hash, HeaderNode* previous);
    /// Fills an empty tree with all records of a store, which nobody writes to meanwhile. Errors: corrupt
    /// when a parent is missing or a height does not follow from it; io.
    [[nodiscard]] Result<void> load(const Store& store);

    [[nodiscard]] std::size_t size() const { return loaded_.size() + added_.size(); }
    [[nodiscard]] HeaderNode* genesis() const { return genesis_; }
    template <class Visit>
    void for_each(Visit&& visit) {
        for (HeaderNode& node : loaded_) visit(node);
        for (HeaderNode& node : added_) visit(node);
    }

 private:
    [[nodiscard]] Result<void> link_loaded(const std::vector<BlockHash>& previous_hashes);
    void link(HeaderNode& node, HeaderNode* previous);

    // What a start found, parents first, so that walks along a branch walk through memory; and what came
    // since.
    std::vector<HeaderNode> loaded_;
    std::deque<HeaderNode> added_;
    HeaderIndex by_hash_;
    HeaderNode* genesis_ = nullptr;
};

/// Calls `visit(HeaderNode&)` for every descendant of `root`, parents before children, without recursion. The
/// visit returns whether to go on below that node.
template <class Visit>
void for_each_descendant(HeaderNode& root, Visit&& visit) {
    HeaderNode* node = root.first_child;
    while (node != nullptr) {
        const bool below = visit(*node);
        if (below && node->first_child != nullptr) {
            node = node->first_child;
            continue;
        }
        while (node->next_sibling == nullptr) {
            node = node->previous;
            if (node == &root) return;
        }
        node = node->next_sibling;
    }
}

}  // namespace blockpub
