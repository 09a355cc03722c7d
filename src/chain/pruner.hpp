// SPDX-License-Identifier: MIT
#pragma once

#include "base/log.hpp"
#include "chain/chain.hpp"
#include "chain/chain_state.hpp"
#include "chain/waiting_blocks.hpp"

#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace blockpub {

/// Which stored blocks may go, and how they go: whole segment files, of which a record in the store tells
/// before the first of them is removed.
///
/// A block of which any part (bytes, undo data, facts) lies in a file that goes is given up whole. A file may
/// go when all its blocks are at or below a height, and none of them waits for a parent. A record in table
/// `meta`, key `pruning/` and the number of the segment, is written with the records of the blocks and goes
/// once the file is removed: a start removes what a crash has left.
///
/// Thread safety: chain thread only.
/// Ownership: borrows all that it is made with.
/// Blocking: `remove_files` and `load` unlink files and sync a directory.
class Pruner {
 public:
    Pruner(const PruneOptions& options, ChainState& state, const WaitingBlocks& waiting, Store& store,
           const Log& log);

    /// The chain has begun above `base`, if it is not null. Result: whether that is news.
    [[nodiscard]] bool note_base(const HeaderNode* base);
    /// A block of the active chain has come that was not here.
    void note_filled();
    /// Finds out what has been pruned, and removes the files that a crash has left. Errors: those of the
    /// store.
    /// `explained`: that blocks are not here has been said.
    [[nodiscard]] Result<void> load(bool explained = false);

    /// Highest block of the active chain that has been given up, or never was here; nothing while all but
    /// genesis are here.
    [[nodiscard]] std::optional<Height> pruned_to() const { return pruned_to_; }
    /// Highest height that automatic pruning may give up just now; nothing in a chain that is too short.
    [[nodiscard]] std::optional<Height> limit() const;
    /// The limit that pruneblockchain's argument stands for: a height, or a time above a billion. Errors:
    /// invalid_argument and unavailable, with Core's texts.
    [[nodiscard]] Result<Height> limit_of(std::int64_t height_or_time) const;
    /// With automatic pruning: how many bytes should go, if there is something that may.
    [[nodiscard]] std::uint64_t excess();

    /// Files that go together, and the blocks that go with them.
    struct Batch {
        std::vector<std::uint32_t> segments;
        std::vector<HeaderNode*> blocks;
        std::uint64_t bytes = 0;
        Height highest;     ///< of the blocks
        bool more = false;  ///< further files may go, and should
    };
    /// The oldest files that may go with `limit`: enough to free `bytes`, and no more than a batch has.
    [[nodiscard]] Batch choose(Height limit, std::uint64_t bytes);
    /// Marks the blocks in the state's changes, which are to be committed next, and says so in the log.
    void mark(const Batch& batch, Height limit);
    /// Removes the files of all batches whose marks are committed. Errors: io; tried again with the next one.
    [[nodiscard]] Result<void> remove_files();

 private:
    [[nodiscard]] std::vector<std::int64_t> highest_by_segment(std::size_t count) const;
    void find_pruned_to(const HeaderNode* from);
    void tell(const Batch& batch, Height limit);

    const PruneOptions options_;
    ChainState& state_;
    const WaitingBlocks& waiting_;
    Store& store_;
    const Log log_;
    std::optional<Height> pruned_to_;
    std::vector<std::uint32_t> doomed_;  // marked, and still there for all we know
    bool removal_failed_ = false;        // and has been told of

    // While nothing more may go: until when.
    std::optional<std::uint32_t> seen_last_segment_;
    Height blocked_below_;

    /// Batches that follow one another.
    struct Run {
        std::chrono::steady_clock::time_point began;
        std::chrono::steady_clock::time_point told;
        Height first;
    };
    std::optional<Run> run_;
};

}  // namespace blockpub
