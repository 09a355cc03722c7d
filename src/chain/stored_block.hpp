// SPDX-License-Identifier: MIT
#pragma once

#include "chain/chain_state.hpp"
#include "chain/coins_engine.hpp"
#include "chain/header_tree.hpp"

#include <blockpub/store.hpp>

#include <optional>

namespace blockpub {

/// Reads and decodes a block of the store, and makes sure that every byte is the one asked for: the header by
/// its hash, transactions and witnesses by what it commits to.
/// Errors: corrupt, io, unavailable.
[[nodiscard]] Result<ParsedBlock> read_stored_block(const Store& store, const BlobPlace& place,
                                                    const BlockHash& hash);

/// A block of the tree as the coins engine sees it; read when first asked for, unless it is at hand.
/// Thread safety: chain thread only.
/// Ownership: borrows node, store and `at_hand` (which may be null, or another block).
class StoredBlock final : public BlockInChain {
 public:
    StoredBlock(const HeaderNode& node, const Store& store, const ParsedBlock* at_hand);

    [[nodiscard]] const BlockHash& hash() const override { return node_.hash; }
    [[nodiscard]] Height height() const override { return node_.height; }
    [[nodiscard]] std::int64_t previous_median_time() const override;
    [[nodiscard]] BlockHash ancestor_hash(Height height) const override {
        return node_.ancestor(height)->hash;
    }
    [[nodiscard]] std::int64_t ancestor_median_time(Height height) const override {
        return node_.ancestor(height)->median_time_past();
    }
    [[nodiscard]] Result<const ParsedBlock*> parsed() override;
    [[nodiscard]] Result<SharedBytes> undo() override;

    /// The block where it has been read or was at hand; else null.
    [[nodiscard]] const ParsedBlock* at_hand() const { return at_hand_; }
    /// The block was asked for, and its bytes are not there or not what they were: reading again will not
    /// help.
    [[nodiscard]] bool lost() const { return lost_; }

 private:
    const HeaderNode& node_;
    const Store& store_;
    const ParsedBlock* at_hand_ = nullptr;
    std::optional<ParsedBlock> read_;
    bool lost_ = false;
};

/// Stores undo data and facts beside a block that was connected, unless they are there from an earlier time.
/// Errors: those of Store::append_derived.
[[nodiscard]] Result<void> store_outcome(Store& store, ChainState& state, HeaderNode& node,
                                         const CoinsEngine::Connected& connected);

/// A block that is not in the tree, as it would be on top of a parent.
/// Thread safety: chain thread only.
/// Ownership: borrows block and parent.
class BlockUnderTest final : public BlockInChain {
 public:
    BlockUnderTest(const ParsedBlock& block, const HeaderNode& parent) : block_(block), parent_(parent) {}

    [[nodiscard]] const BlockHash& hash() const override { return block_.hash(); }
    [[nodiscard]] Height height() const override { return parent_.height.next(); }
    [[nodiscard]] std::int64_t previous_median_time() const override { return parent_.median_time_past(); }
    [[nodiscard]] BlockHash ancestor_hash(Height height) const override {
        return parent_.ancestor(height)->hash;
    }
    [[nodiscard]] std::int64_t ancestor_median_time(Height height) const override {
        return parent_.ancestor(height)->median_time_past();
    }
    [[nodiscard]] Result<const ParsedBlock*> parsed() override { return &block_; }
    [[nodiscard]] Result<SharedBytes> undo() override { return fail(Errc::not_found, "not a stored block"); }

 private:
    const ParsedBlock& block_;
    const HeaderNode& parent_;
};

}  // namespace blockpub
