// SPDX-License-Identifier: MIT
#pragma once

#include "base/check.hpp"
#include "chain/header_tree.hpp"

#include <vector>

namespace blockpub {

/// The branch that is in force, from genesis to the tip.
/// Thread safety: chain thread only.
/// Ownership: borrows the nodes.
class ActiveChain {
 public:
    /// Null before genesis has been connected.
    [[nodiscard]] HeaderNode* tip() const { return by_height_.empty() ? nullptr : by_height_.back(); }
    [[nodiscard]] bool contains(const HeaderNode& node) const {
        return node.height.value < by_height_.size() && by_height_[node.height.value] == &node;
    }
    /// Requires: height is not above the tip's.
    [[nodiscard]] HeaderNode& at(Height height) const { return *by_height_[height.value]; }
    /// Last block of `node`'s branch that is on this one; null while this one is empty.
    [[nodiscard]] HeaderNode* find_fork(HeaderNode& node) const {
        if (by_height_.empty()) return nullptr;
        return last_common_ancestor(tip(), &node);
    }
    /// The lowest block whose own time, or that of one before it, is `time` or later; null when there is
    /// none.
    [[nodiscard]] const HeaderNode* first_at_least(std::int64_t time) const {
        for (const HeaderNode* node : by_height_) {
            if (std::int64_t{node->time} >= time) return node;
        }
        return nullptr;
    }
    void push(HeaderNode& node) {
        BLOCKPUB_CHECK(node.previous == tip(), "{} does not extend the tip", node.hash.display_hex());
        by_height_.push_back(&node);
    }
    void pop() { by_height_.pop_back(); }
    /// Makes `tip` and its ancestors the chain.
    void set_tip(HeaderNode& tip) {
        by_height_.assign(tip.height.value + std::size_t{1}, nullptr);
        for (HeaderNode* node = &tip; node != nullptr; node = node->previous)
            by_height_[node->height.value] = node;
    }

 private:
    std::vector<HeaderNode*> by_height_;
};

}  // namespace blockpub
