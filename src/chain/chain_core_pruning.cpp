// SPDX-License-Identifier: MIT
#include "chain/chain_core.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace blockpub {

Result<Height> ChainCore::prune_limit(std::int64_t height_or_time) const {
    if (halted_) return std::unexpected(*halted_);
    return pruner_->limit_of(height_or_time);
}

/// The coins on disk must not need a block up to `height` to be brought to the tip.
Result<void> ChainCore::keep_coins_above(Height height) {
    if (options_.coins == nullptr) return {};
    if (const auto stored = coins_.stored_tip()) {
        const HeaderNode* const node = state_->tree().find(stored->hash);
        if (node != nullptr && state_->active().contains(*node) && node->height >= height) return {};
    }
    return coins_.flush();
}

Result<bool> ChainCore::prune_batch(Height limit, std::uint64_t bytes) {
    if (halted_) return std::unexpected(*halted_);
    if (auto done = finish(true); !done) return forward_error(done);
    const Pruner::Batch batch = pruner_->choose(limit, bytes);
    if (!batch.segments.empty()) {
        if (auto kept = keep_coins_above(batch.highest); !kept) return forward_error(kept);
        pruner_->mark(batch, limit);
        if (auto done = finish(true); !done) return forward_error(done);
        monitor_.set_pruned_to(pruner_->pruned_to());
    }
    if (auto removed = pruner_->remove_files(); !removed) return forward_error(removed);
    return batch.more;
}

void ChainCore::prune_automatically() {
    if (halted_) return;
    prune_due_ = false;
    const std::uint64_t bytes = pruner_->excess();
    const auto limit = pruner_->limit();
    if (bytes == 0 || !limit) return;
    const auto pruned = prune_batch(*limit, bytes);
    if (pruned) {
        prune_failed_ = false;
        prune_due_ = *pruned;
        return;
    }
    prune_due_ = false;
    if (!halted_ && !std::exchange(prune_failed_, true))
        log_.error("pruning: {}; it is tried again with the next block", pruned.error().context);
}

void ChainCore::branch_unreachable(const HeaderNode& best) {
    std::string reason = fmt::format(
        "block {} at height {} has more work than the tip, but its branch leaves the chain below blocks that "
        "were pruned; to follow it give an empty data directory and import again",
        best.hash.display_hex(), best.height.value);
    log_.error("{}", reason);
    monitor_.set_unreachable(std::move(reason));
    unreachable_work_ = best.chainwork;
}

}  // namespace blockpub
