// SPDX-License-Identifier: MIT
#include "chain/chain_core.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace blockpub {
namespace {

/// Blocks below the base were taken unchecked where headers had the work.
Error cannot_be_whole(Error error) {
    if (error.code != Errc::corrupt) return error;
    error.context = fmt::format(
        "The store that began at the tip cannot be made whole: {}. Either the node that gave the blocks is "
        "not on "
        "a valid chain, or this disk is damaged: give an empty -datadir=<dir> and a node that you trust",
        error.context);
    return error;
}

}  // namespace

Result<void> ChainCore::load_start() {
    start_.emplace(options_, *state_, log_);
    if (auto loaded = start_->load(); !loaded) return loaded;
    publish_start();
    return {};
}

void ChainCore::publish_start() {
    const std::string_view reason = start_->why_no_coins();
    coins_.withhold(std::string(reason));
    publish_filling();
}

void ChainCore::publish_filling() {
    std::optional<ChainStatus::Filling> filling;
    if (start_->filling()) filling = {.blocks_below = start_->blocks_below(), .coins = coins_.height()};
    monitor_.set_start(!start_->why_no_coins().empty(), filling);
}

/// A block that the chain had without its bytes has come.
void ChainCore::note_filled(const HeaderNode& node) {
    if (!state_->active().contains(node)) return;
    nobody_waits_ = true;
    pruner_->note_filled();
    monitor_.set_pruned_to(pruner_->pruned_to());
    publish_filling();
}

Result<void> ChainCore::make_coins() {
    HeaderNode* const node = halted_ ? nullptr : coins_.next(state_->active());
    if (node == nullptr) return {};
    nobody_waits_ = true;
    unsigned failures = 0;
    auto made = coins_.connect_next(*state_, *node, *options_.store);
    while (!made) {
        const bool may_pass = made.error().code == Errc::io || made.error().code == Errc::disk_full;
        if (!may_pass || !wait_to_retry(made.error(), ++failures)) return halt(cannot_be_whole(made.error()));
        made = coins_.connect_next(*state_, *node, *options_.store);
    }
    state_->link_filled(*node);
    start_->tell(node->height);
    publish_filling();
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
