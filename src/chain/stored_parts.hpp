// SPDX-License-Identifier: MIT
#pragma once

#include "chain/facts.hpp"
#include "chain/undo.hpp"
#include "primitives/merkle_tree.hpp"
#include "store/block_cache.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/result.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

namespace blockpub {

/// The facts of one block, checked once, and the merkle tree over its txids once somebody asks for it; as the
/// block cache keeps them.
/// Thread safety: every method from any thread.
class StoredFacts {
 public:
    static constexpr BlockPart kPart = BlockPart::facts;

    /// Errors: corrupt.
    [[nodiscard]] static Result<std::shared_ptr<const StoredFacts>> open(SharedBytes bytes);
    /// Requires: what encode_facts made.
    [[nodiscard]] static std::shared_ptr<const StoredFacts> of_encoded(SharedBytes bytes);

    [[nodiscard]] const FactsView& view() const& { return view_; }
    [[nodiscard]] const MerkleTree& tree() const&;
    /// With the tree, whether it is there or not.
    [[nodiscard]] std::size_t memory() const { return sizeof *this + bytes_.size() + 2 * 32 * view_.count(); }

    StoredFacts(SharedBytes bytes, const FactsView& view) : bytes_(std::move(bytes)), view_(view) {}

 private:
    const SharedBytes bytes_;
    const FactsView view_;  // of bytes_
    mutable std::once_flag tree_made_;
    mutable MerkleTree tree_;
};

/// The undo data of one block, checked once, and walked in place: decoded it would take several times the
/// memory, and a walk allocates nothing.
/// Thread safety: immutable.
class StoredUndo {
 public:
    static constexpr BlockPart kPart = BlockPart::undo;

    /// Errors: corrupt.
    [[nodiscard]] static Result<std::shared_ptr<const StoredUndo>> open(SharedBytes bytes);
    /// Requires: what encode_undo made.
    [[nodiscard]] static std::shared_ptr<const StoredUndo> of_encoded(SharedBytes bytes);

    /// A walk from the first transaction on. Ownership: borrows.
    [[nodiscard]] UndoReader reader() const& { return UndoReader::of_checked(bytes_.bytes()); }
    [[nodiscard]] ByteSpan bytes() const& { return bytes_.bytes(); }
    [[nodiscard]] std::size_t memory() const { return sizeof *this + bytes_.size(); }

    explicit StoredUndo(SharedBytes bytes) : bytes_(std::move(bytes)) {}

 private:
    const SharedBytes bytes_;
};

}  // namespace blockpub
