// SPDX-License-Identifier: MIT
#pragma once

#include "store/cache_table.hpp"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace blockpub {

/// What is in the cache, by what it costs: sums, and who has to go when there is too much.
///
/// Thread safety: one thread at a time.
/// Ownership: borrows the nodes, which are the table's.
class CachePopulation {
 public:
    /// `half_life`: of a use.
    CachePopulation(CacheNode::Time::duration half_life, std::uint64_t seed)
        : half_life_(half_life), random_(seed | 1) {}

    void add(CacheNode& node);
    void remove(CacheNode& node);
    /// One to remove when there is too much: the less used of two random ones. Null when nothing is left.
    [[nodiscard]] CacheNode* victim(CacheNode::Time now);
    /// The same among those that keep segments open.
    [[nodiscard]] CacheNode* segment_victim(CacheNode::Time now) { return less_used(of_segments_, now); }

    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    [[nodiscard]] std::size_t segments() const { return segments_.size(); }
    /// As many as they would be with these.
    [[nodiscard]] std::size_t segments_with(const std::vector<const void*>& more) const;
    [[nodiscard]] std::size_t count() const { return on_heap_.size() + of_segments_.size(); }

 private:
    using Nodes = std::vector<CacheNode*>;

    [[nodiscard]] Nodes& list_of(const CacheNode& node) {
        return node.segment == nullptr ? on_heap_ : of_segments_;
    }
    [[nodiscard]] CacheNode* less_used(const Nodes& nodes, CacheNode::Time now);
    [[nodiscard]] std::size_t random_below(std::size_t bound);

    const CacheNode::Time::duration half_life_;
    std::uint64_t random_;
    Nodes on_heap_;
    Nodes of_segments_;
    std::size_t bytes_ = 0;
    std::unordered_map<const void*, std::size_t> segments_;  // how many parts keep each open
};

}  // namespace blockpub
