// SPDX-License-Identifier: MIT
#pragma once

#include "chain/active_chain.hpp"
#include "chain/header_tree.hpp"
#include "chain/step_changes.hpp"

#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <cstdint>
#include <memory>
#include <set>
#include <utility>

namespace blockpub {

/// The header tree, the active chain in it, the candidates to become the tip, and what of all this the store
/// does not know yet.
///
/// Thread safety: chain thread only.
/// Source: Bitcoin Core v28.1 src/validation.cpp: setBlockIndexCandidates, ReceivedBlockTransactions,
/// ResetBlockFailureFlags.  Differs: descendants of a failed block are marked when it fails, not when met;
/// the last tie-breaker is the hash.
class ChainState {
 public:
    /// State of an existing store, or of one without genesis. Errors: those of the store; corrupt.
    [[nodiscard]] static Result<std::unique_ptr<ChainState>> load(const Store& store);

    [[nodiscard]] HeaderTree& tree() { return tree_; }
    [[nodiscard]] ActiveChain& active() { return active_; }
    [[nodiscard]] const ActiveChain& active() const { return active_; }
    [[nodiscard]] StepChanges& changes() { return changes_; }
    /// Most work among headers not known to be invalid; null in an empty tree.
    [[nodiscard]] HeaderNode* best_header() const { return best_header_; }

    /// Adds a header that has passed its checks.
    HeaderNode& add_header(const BlockHeader& header, const BlockHash& hash, HeaderNode* previous);
    /// The block of a known header has been stored at `place`: links it and all that waited for it to their
    /// ancestors, and makes candidates of them.
    void receive_block(HeaderNode& node, const BlobPlace& place, std::uint32_t tx_count);
    /// The block's bytes have turned out to be unreadable: they may be given again.
    void forget_block(HeaderNode& node);

    /// Bytes, undo data and facts of the block are being given up, for good.
    void give_up_block(HeaderNode& node);

    /// Makes `base` the tip without the blocks up to it, which are not here: as if they were pruned, and with
    /// the event of blocks that are. Requires: it descends from the tip.
    void assume_below(HeaderNode& base);
    /// The block and those below it are not fetched: readers are answered as if they were pruned.
    void leave_out(HeaderNode& node);
    /// Takes back every leave_out.
    void want_all();
    /// A block of the active chain that came late, and all below it are here.
    void link_filled(HeaderNode& node);

    /// Marks a block that broke a rule, and all its descendants.
    void mark_failed(HeaderNode& node);
    /// Marks only the block itself: while a chain is taken back block by block, which ends in mark_failed.
    void mark_failed_alone(HeaderNode& node);
    /// The block was marked as failed itself, but it is an ancestor that is to blame.
    void mark_failed_child(HeaderNode& node);
    /// Takes the marks from a block, its descendants and its ancestors.
    void clear_failure(HeaderNode& node);
    /// Sees to it that the block wins against others of as much work. Result: false when it has less than the
    /// tip.
    [[nodiscard]] bool make_precious(HeaderNode& node);

    /// The best block that can be the tip: valid, and all blocks down to the active chain are here. Null when
    /// there is none.
    [[nodiscard]] HeaderNode* find_best_candidate();
    /// The best candidate that find_best_candidate has passed over since blocks that are to be taken back on
    /// the way to it are pruned; null when there was none since the last call.
    [[nodiscard]] const HeaderNode* take_unreachable() { return std::exchange(unreachable_, nullptr); }
    /// Highest block above `fork`, in the active chain, that has been pruned, and so cannot be taken back;
    /// null when there is none. `fork`: null stands for genesis' parent.
    [[nodiscard]] const HeaderNode* pruned_above(const HeaderNode* fork) const;
    /// Gives up all candidates that are worse than the tip.
    void prune_candidates();
    /// Adds what has become as good as the tip since the tip moved back.
    void refill_candidates();
    void add_candidate(HeaderNode& node);

    /// Moves the tip and notes event and tables.
    void connect(HeaderNode& node);
    void disconnect_tip();

 private:
    struct WorseFirst {
        bool operator()(const HeaderNode* a, const HeaderNode* b) const { return is_worse(*a, *b); }
    };

    explicit ChainState(EventIndex next_event) : changes_(next_event) {}

    [[nodiscard]] Result<void> load_tip(const Snapshot& snapshot);
    void link_with_descendants(HeaderNode& root);
    void link_block(HeaderNode& node);
    static void count_transactions(HeaderNode& node);
    [[nodiscard]] HeaderNode* first_obstacle(HeaderNode& candidate);
    void update_best_header(HeaderNode& node);
    void find_best_header();

    HeaderTree tree_;
    ActiveChain active_;
    StepChanges changes_;
    std::set<HeaderNode*, WorseFirst> candidates_;
    HeaderNode* best_header_ = nullptr;
    const HeaderNode* unreachable_ = nullptr;
    std::uint64_t next_arrival_ = 1;
    std::int64_t next_precious_ = -1;
    Uint256 last_precious_work_;
};

}  // namespace blockpub
