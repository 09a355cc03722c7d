// SPDX-License-Identifier: MIT
#include "chain/chain_core.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace blockpub {

Result<void> ChainCore::load_start() {
    start_.emplace(options_, *state_, log_);
    if (auto loaded = start_->load(); !loaded) return loaded;
    publish_start();
    return {};
}

void ChainCore::publish_start() {
    const std::string_view reason = start_->why_no_coins();
    coins_.withhold(std::string(reason));
    monitor_.set_start(!reason.empty(), start_->filling());
}

/// A block that the chain had without its bytes has come.
void ChainCore::note_filled(const HeaderNode& node) {
    if (!state_->active().contains(node)) return;
    nobody_waits_ = true;
    pruner_->note_filled();
    monitor_.set_pruned_to(pruner_->pruned_to());
}

Result<void> ChainCore::make_coins() {
    HeaderNode* const node = halted_ ? nullptr : coins_.next(state_->active());
    if (node == nullptr) return {};
    nobody_waits_ = true;
    unsigned failures = 0;
    auto made = coins_.connect_next(*state_, *node, *options_.store);
    while (!made) {
        const bool may_pass = made.error().code == Errc::io || made.error().code == Errc::disk_full;
        if (!may_pass || !wait_to_retry(made.error(), ++failures)) return halt(std::move(made.error()));
        made = coins_.connect_next(*state_, *node, *options_.store);
    }
    state_->link_filled(*node);
    start_->tell(node->height);
    if (coins_.behind()) return {};
    start_->finish();
    // Shown before they are given: readers must not meet the coins of a lower block.
    show_changes();
    publish_start();
    return {};
}

void ChainCore::look_for_unreachable() {
    const HeaderNode* const best = start_->take_unreachable();
    if (best == nullptr) return;
    std::string reason = fmt::format(
        "block {} at height {} has more work than the tip, but its branch leaves the chain below height {}, "
        "where this store begins (-startat=tip); to follow it give an empty data directory",
        best->hash.display_hex(), best->height.value, start_->base()->height.value);
    log_.error("{}", reason);
    monitor_.set_unreachable(std::move(reason));
    unreachable_work_ = best->chainwork;
}

}  // namespace blockpub
