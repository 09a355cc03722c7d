// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace blockpub {

/// Foresees how full a segment will be, page by page, so that places can be given before anything is written
/// and MDB_MAP_FULL, which would lose a whole transaction, cannot happen.
///
/// Counts from above: a value of its own pages (⌈(16 + length) / page⌉), its entry in a leaf, leaves,
/// branches; and keeps kReserve pages free for what a transaction copies on its way (the path to the last
/// leaf, LMDB's free list). Thread safety: a value.
class SegmentFill {
 public:
    static constexpr std::uint64_t kReserve = 64;

    SegmentFill() = default;
    /// `pages_used`: what the last commit left, the two meta pages included.
    SegmentFill(std::size_t page_size, std::uint64_t map_bytes, std::uint64_t pages_used)
        : page_size_(page_size), map_pages_(map_bytes / page_size), pages_(pages_used) {}

    /// Whether a value of that size still goes in.
    [[nodiscard]] bool fits(std::size_t size) const noexcept {
        SegmentFill after = *this;
        after.add(size);
        return after.pages_ + kReserve <= map_pages_;
    }

    void add(std::size_t size) noexcept {
        std::size_t entry = kPageHeader + size;
        if (in_own_pages(size, page_size_)) {
            pages_ += (kPageHeader + size + page_size_ - 1) / page_size_;
            entry = kPageHeader + sizeof(std::uint64_t);
        }
        entry = (entry + 1) / 2 * 2 + kNodeSlot;
        if (leaf_room_ < entry) {
            leaf_room_ = page_size_ - kPageHeader;
            pages_ += 1;
            if (++leaves_ % kLeavesPerBranch == 1) pages_ += 1;
        }
        leaf_room_ -= entry;
    }

    [[nodiscard]] std::uint64_t pages() const noexcept { return pages_; }

    /// Whether LMDB gives a value overflow pages, which are never rewritten. A smaller one shares a leaf,
    /// which the next commits recycle.
    [[nodiscard]] static bool in_own_pages(std::size_t size, std::size_t page_size) noexcept {
        const std::size_t largest_in_leaf = (page_size - kPageHeader) / 2 / 2 * 2 - kNodeSlot;
        return kNodeHeader + kKeySize + size > largest_in_leaf;
    }

 private:
    // Of LMDB's file format.
    static constexpr std::size_t kPageHeader = 16;
    static constexpr std::size_t kNodeHeader = 8;
    static constexpr std::size_t kNodeSlot = 2;
    static constexpr std::size_t kKeySize = 8;
    static constexpr std::uint64_t kLeavesPerBranch = 100;  // some 226 fit

    std::size_t page_size_ = 4096;
    std::uint64_t map_pages_ = 0;
    std::uint64_t pages_ = 0;
    std::uint64_t leaves_ = 0;
    std::size_t leaf_room_ = 0;
};

}  // namespace blockpub
