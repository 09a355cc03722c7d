// SPDX-License-Identifier: MIT
#include "chain/header_index.hpp"

#include "chain/header_tree.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

namespace blockpub {
namespace {

constexpr std::size_t kFewestSlots = 64;

// Wire order: the beginning is uniform, the zeros that the work makes are at the end.
std::uint64_t prefix_of(const BlockHash& hash) {
    return std::hash<BlockHash>{}(hash);
}

/// Slots for `count` nodes: at most three quarters of them are taken.
std::size_t slots_for(std::size_t count) {
    return std::max(kFewestSlots, std::bit_ceil(count + count / 3 + 1));
}

}  // namespace

std::size_t HeaderIndex::probe(const BlockHash& hash) const {
    const std::uint64_t prefix = prefix_of(hash);
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = prefix & mask;
    while (slots_[at].node != nullptr && (slots_[at].prefix != prefix || slots_[at].node->hash != hash))
        at = (at + 1) & mask;
    return at;
}

HeaderNode* HeaderIndex::find(const BlockHash& hash) const {
    return slots_.empty() ? nullptr : slots_[probe(hash)].node;
}

bool HeaderIndex::insert(HeaderNode& node) {
    reserve(count_ + 1);
    Slot& slot = slots_[probe(node.hash)];
    if (slot.node != nullptr) return false;
    slot = {prefix_of(node.hash), &node};
    ++count_;
    return true;
}

void HeaderIndex::reserve(std::size_t count) {
    if (const std::size_t slots = slots_for(count); slots > slots_.size()) resize(slots);
}

void HeaderIndex::resize(std::size_t slots) {
    const auto before = std::exchange(slots_, std::vector<Slot>(slots));
    const std::size_t mask = slots - 1;
    for (const Slot& slot : before) {
        if (slot.node == nullptr) continue;
        std::size_t at = slot.prefix & mask;
        while (slots_[at].node != nullptr) at = (at + 1) & mask;
        slots_[at] = slot;
    }
}

}  // namespace blockpub
