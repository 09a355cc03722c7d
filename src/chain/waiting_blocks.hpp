// SPDX-License-Identifier: MIT
#pragma once

#include "chain/step_changes.hpp"

#include <blockpub/hash.hpp>
#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace blockpub {

/// Blocks of an import whose parent is not known yet. Their bytes lie in the store; a record in table `meta`
/// keeps the place of each over a restart, and goes in the commit that takes the block into the tree.
///
/// Record: key `waiting/` and the block's hash in display order; value: the parent's hash in wire order, then
/// segment (u32), number (u64) and size (u32), little-endian. Thread safety: chain thread only.
class WaitingBlocks {
 public:
    /// `limit`: bytes of blocks that may wait together.
    explicit WaitingBlocks(std::uint64_t limit) : limit_(limit) {}

    struct Waiting {
        BlockHash hash;
        BlobPlace place;
        /// By arrival: blobs are numbered as they come.
        friend bool operator<(const Waiting& a, const Waiting& b) {
            return std::pair(a.place.segment, a.place.number) < std::pair(b.place.segment, b.place.number);
        }
    };

    /// Reads the records of a store. Errors: io, corrupt.
    [[nodiscard]] Result<void> load(const Store& store);

    [[nodiscard]] bool contains(const BlockHash& hash) const { return blocks_.contains(hash); }
    /// Also bounds their number, and with it the memory that their records take here.
    [[nodiscard]] bool has_room_for(std::uint64_t size) const;
    void add(const BlockHash& parent, const Waiting& block, StepChanges& changes);
    [[nodiscard]] bool is_parent(const BlockHash& hash) const { return by_parent_.contains(hash); }
    /// The block that has waited for this parent the longest, if there is one.
    [[nodiscard]] std::optional<Waiting> next_child(const BlockHash& parent) const;
    void remove(const BlockHash& hash, StepChanges& changes);
    /// Calls `visit` with the place of every block that waits.
    template <class Visit>
    void for_each_place(Visit&& visit) const {
        for (const auto& [hash, entry] : blocks_) visit(entry.place);
    }
    /// Parents that are waited for.
    [[nodiscard]] std::vector<BlockHash> parents() const;
    [[nodiscard]] std::size_t count() const { return blocks_.size(); }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
    void remember(const BlockHash& parent, const Waiting& block);

    const std::uint64_t limit_;
    std::uint64_t bytes_ = 0;
    std::unordered_map<BlockHash, std::set<Waiting>> by_parent_;
    struct Entry {
        BlockHash parent;
        BlobPlace place;
    };
    std::unordered_map<BlockHash, Entry> blocks_;
};

}  // namespace blockpub
