// SPDX-License-Identifier: MIT
#include "store/cache_population.hpp"

#include <algorithm>
#include <utility>

namespace blockpub {

void CachePopulation::add(CacheNode& node) {
    Nodes& nodes = list_of(node);
    node.position = nodes.size();
    nodes.push_back(&node);
    bytes_ += node.bytes;
    if (node.segment != nullptr) ++segments_[node.segment];
}

void CachePopulation::remove(CacheNode& node) {
    Nodes& nodes = list_of(node);
    CacheNode* const last = nodes.back();
    last->position = node.position;
    nodes[node.position] = last;
    nodes.pop_back();
    bytes_ -= node.bytes;
    if (node.segment == nullptr) return;
    const auto found = segments_.find(node.segment);
    if (--found->second == 0) segments_.erase(found);
}

std::size_t CachePopulation::segments_with(const std::vector<const void*>& more) const {
    std::size_t fresh = 0;
    for (auto at = more.begin(); at != more.end(); ++at) {
        if (!segments_.contains(*at) && std::find(more.begin(), at, *at) == at) ++fresh;
    }
    return segments_.size() + fresh;
}

CacheNode* CachePopulation::victim(CacheNode::Time now) {
    // Those of segments cost next to no memory, and go for it only where nothing else is left.
    return less_used(on_heap_.empty() ? of_segments_ : on_heap_, now);
}

CacheNode* CachePopulation::less_used(const Nodes& nodes, CacheNode::Time now) {
    if (nodes.empty()) return nullptr;
    CacheNode* const one = nodes[random_below(nodes.size())];
    CacheNode* const other = nodes[random_below(nodes.size())];
    return one->count_uses(now, half_life_) <= other->count_uses(now, half_life_) ? one : other;
}

std::size_t CachePopulation::random_below(std::size_t bound) {
    // Marsaglia's xorshift: nobody gains anything by foreseeing a victim.
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return static_cast<std::size_t>(random_ % bound);
}

}  // namespace blockpub
