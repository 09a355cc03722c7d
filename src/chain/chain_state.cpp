// SPDX-License-Identifier: MIT
#include "chain/chain_state.hpp"

#include "base/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

namespace blockpub {

Result<std::unique_ptr<ChainState>> ChainState::load(const Store& store) {
    auto snapshot = store.snapshot();
    if (!snapshot) return forward_error(snapshot);
    const auto next_event = snapshot->next_event();
    if (!next_event) return std::unexpected(next_event.error());
    std::unique_ptr<ChainState> state(new ChainState(*next_event));
    if (auto loaded = state->tree_.load(store); !loaded) return forward_error(loaded);
    if (auto loaded = state->load_tip(*snapshot); !loaded) return forward_error(loaded);
    return state;
}

Result<void> ChainState::load_tip(const Snapshot& snapshot) {
    const auto tip = snapshot.tip();
    if (!tip && tip.error().code != Errc::not_found) return std::unexpected(tip.error());
    if (tip) {
        HeaderNode* const node = tree_.find(tip->hash);
        if (node == nullptr || node->height != tip->height) {
            return fail(Errc::corrupt, fmt::format("the tip {} has no header", tip->hash.display_hex()));
        }
        active_.set_tip(*node);
        // A restart alone never changes the tip, whatever decided for it at the time.
        node->sequence = 0;
    }
    tree_.for_each([&](HeaderNode& node) {
        next_arrival_ = std::max(next_arrival_, node.arrival + 1);
        add_candidate(node);
    });
    find_best_header();
    return {};
}

HeaderNode& ChainState::add_header(const BlockHeader& header, const BlockHash& hash, HeaderNode* previous) {
    const bool was_leaf = previous != nullptr && previous->first_child == nullptr;
    HeaderNode& node = tree_.insert(header, hash, previous);
    changes_.touch(node);
    changes_.set_leaf(hash, true);
    if (was_leaf) changes_.set_leaf(previous->hash, false);
    update_best_header(node);
    return node;
}

void ChainState::receive_block(HeaderNode& node, const BlobPlace& place, std::uint32_t tx_count) {
    node.block = PackedPlace(place);
    node.tx_count = tx_count;
    node.status &= ~std::uint32_t{HeaderRecord::kPruned};
    changes_.touch(node);
    // Below the tip already: its place in the chain does not depend on its coming.
    if (active_.contains(node)) return;
    if (node.previous == nullptr || node.previous->linked()) {
        link_with_descendants(node);
    } else {
        node.arrival = next_arrival_++;
    }
}

void ChainState::link_with_descendants(HeaderNode& root) {
    // Breadth first, and by arrival among siblings: the order in which ties will be decided.
    std::deque<HeaderNode*> ready{&root};
    while (!ready.empty()) {
        HeaderNode& node = *ready.front();
        ready.pop_front();
        link_block(node);
        const auto first_new = static_cast<std::ptrdiff_t>(ready.size());
        for (HeaderNode* child = node.first_child; child != nullptr; child = child->next_sibling) {
            if (child->block.present() && !active_.contains(*child)) ready.push_back(child);
        }
        std::sort(ready.begin() + first_new, ready.end(),
                  [](const HeaderNode* a, const HeaderNode* b) { return a->arrival < b->arrival; });
    }
}

void ChainState::link_block(HeaderNode& node) {
    if (!node.linked()) {
        count_transactions(node);
        node.arrival = next_arrival_++;
        node.sequence = static_cast<std::int64_t>(node.arrival);
        node.status |= HeaderRecord::kHasChain;
        changes_.touch(node);
    }
    add_candidate(node);
}

/// What is unknown of the parent stays unknown.
void ChainState::count_transactions(HeaderNode& node) {
    const bool known = node.previous == nullptr || node.previous->chain_tx_count != 0;
    if (!known) return;
    node.chain_tx_count = (node.previous == nullptr ? 0 : node.previous->chain_tx_count) + node.tx_count;
}

void ChainState::assume_below(HeaderNode& base) {
    HeaderNode* const tip = active_.tip();
    BLOCKPUB_CHECK(tip != nullptr && base.ancestor(tip->height) == tip, "{} is not above the tip",
                   base.hash.display_hex());
    leave_out(base);
    for (const HeaderNode* node = &base; node != tip; node = node->previous)
        changes_.set_active(node->height, node->hash);
    base.status |= HeaderRecord::kHasChain | HeaderRecord::kConnected;
    base.arrival = next_arrival_++;
    base.sequence = static_cast<std::int64_t>(base.arrival);
    active_.set_tip(base);
    changes_.set_tip(base);
    changes_.add_event(BlockEventKind::pruned, base);
    add_candidate(base);
    prune_candidates();
}

void ChainState::leave_out(HeaderNode& node) {
    for (HeaderNode* at = &node; at->height.value != 0 && !at->pruned(); at = at->previous) {
        if (at->block.present()) continue;
        at->status |= HeaderRecord::kPruned;
        changes_.touch(*at);
    }
}

void ChainState::want_all() {
    tree_.for_each([&](HeaderNode& node) {
        if (!node.pruned()) return;
        node.status &= ~std::uint32_t{HeaderRecord::kPruned};
        changes_.touch(node);
    });
}

void ChainState::link_filled(HeaderNode& node) {
    if (!node.linked() || node.chain_tx_count == 0) {
        node.status |= HeaderRecord::kHasChain;
        count_transactions(node);
        changes_.touch(node);
    }
    for (HeaderNode* child = node.first_child; child != nullptr; child = child->next_sibling) {
        const bool waits = child->block.present() && !child->linked() && !active_.contains(*child);
        if (waits) link_with_descendants(*child);
    }
}

void ChainState::forget_block(HeaderNode& node) {
    node.block = PackedPlace();
    changes_.touch(node);
}

void ChainState::give_up_block(HeaderNode& node) {
    node.block = node.undo = node.facts = PackedPlace();
    node.status |= HeaderRecord::kPruned;
    changes_.touch(node);
}

const HeaderNode* ChainState::pruned_above(const HeaderNode* fork) const {
    for (const HeaderNode* node = active_.tip(); node != nullptr && node != fork; node = node->previous) {
        if (node->pruned()) return node;
    }
    return nullptr;
}

void ChainState::add_candidate(HeaderNode& node) {
    if (!node.linked() || node.failed()) return;
    if (active_.tip() != nullptr && is_worse(node, *active_.tip())) return;
    candidates_.insert(&node);
}

void ChainState::prune_candidates() {
    BLOCKPUB_CHECK(active_.tip() != nullptr);
    // Not the tip itself: there may be a way back to it from a branch that proves invalid.
    while (!candidates_.empty() && is_worse(**candidates_.begin(), *active_.tip())) {
        candidates_.erase(candidates_.begin());
    }
}

void ChainState::refill_candidates() {
    tree_.for_each([&](HeaderNode& node) { add_candidate(node); });
}

HeaderNode* ChainState::first_obstacle(HeaderNode& candidate) {
    for (HeaderNode* node = &candidate; node != nullptr && !active_.contains(*node); node = node->previous) {
        if (node->failed() || !node->block.present()) return node;
    }
    return nullptr;
}

HeaderNode* ChainState::find_best_candidate() {
    while (!candidates_.empty()) {
        HeaderNode* const best = *candidates_.rbegin();
        HeaderNode* const obstacle = first_obstacle(*best);
        if (obstacle == nullptr) {
            if (pruned_above(active_.find_fork(*best)) == nullptr) return best;
            if (unreachable_ == nullptr) unreachable_ = best;
            candidates_.erase(best);
            continue;
        }
        for (HeaderNode* node = best; node != obstacle; node = node->previous) candidates_.erase(node);
        candidates_.erase(obstacle);
    }
    return nullptr;
}

void ChainState::mark_failed(HeaderNode& node) {
    mark_failed_alone(node);
    for_each_descendant(node, [&](HeaderNode& below) {
        const std::uint32_t before = below.status;
        below.status |= HeaderRecord::kFailedChild;
        if (below.status != before) changes_.touch(below);
        candidates_.erase(&below);
        return true;
    });
    if (best_header_ != nullptr && best_header_->failed()) find_best_header();
}

void ChainState::mark_failed_alone(HeaderNode& node) {
    node.status |= HeaderRecord::kFailed;
    changes_.touch(node);
    candidates_.erase(&node);
}

void ChainState::mark_failed_child(HeaderNode& node) {
    node.status &= ~std::uint32_t{HeaderRecord::kFailed};
    node.status |= HeaderRecord::kFailedChild;
    changes_.touch(node);
}

void ChainState::clear_failure(HeaderNode& node) {
    constexpr std::uint32_t kMarks = HeaderRecord::kFailed | HeaderRecord::kFailedChild;
    const auto clear = [&](HeaderNode& marked) {
        if (!marked.failed()) return;
        marked.status &= ~kMarks;
        changes_.touch(marked);
        add_candidate(marked);
        update_best_header(marked);
    };
    for (HeaderNode* up = node.previous; up != nullptr; up = up->previous) clear(*up);
    clear(node);
    for_each_descendant(node, [&](HeaderNode& below) {
        clear(below);
        return true;
    });
}

bool ChainState::make_precious(HeaderNode& node) {
    const HeaderNode& tip = *active_.tip();
    if (node.chainwork < tip.chainwork) return false;
    // The chain has grown since the last time: the numbers given out then have had their effect.
    if (tip.chainwork > last_precious_work_) next_precious_ = -1;
    last_precious_work_ = tip.chainwork;
    candidates_.erase(&node);
    node.sequence = next_precious_--;
    add_candidate(node);
    if (candidates_.contains(&node)) prune_candidates();
    return true;
}

void ChainState::connect(HeaderNode& node) {
    active_.push(node);
    node.status |= HeaderRecord::kConnected;
    changes_.touch(node);
    changes_.set_active(node.height, node.hash);
    changes_.set_tip(node);
    changes_.add_event(BlockEventKind::connected, node);
}

void ChainState::disconnect_tip() {
    HeaderNode& tip = *active_.tip();
    BLOCKPUB_CHECK(tip.previous != nullptr, "genesis cannot be disconnected");
    active_.pop();
    changes_.set_active(tip.height, std::nullopt);
    changes_.set_tip(*tip.previous);
    changes_.add_event(BlockEventKind::disconnected, tip);
}

void ChainState::update_best_header(HeaderNode& node) {
    if (node.failed()) return;
    if (best_header_ == nullptr || node.chainwork > best_header_->chainwork) best_header_ = &node;
}

void ChainState::find_best_header() {
    // On equal work the tip is the better answer.
    best_header_ = active_.tip() != nullptr && !active_.tip()->failed() ? active_.tip() : tree_.genesis();
    tree_.for_each([&](HeaderNode& node) { update_best_header(node); });
}

}  // namespace blockpub
