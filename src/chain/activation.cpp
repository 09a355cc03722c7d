// SPDX-License-Identifier: MIT
#include "chain/activation.hpp"

#include "chain/stored_block.hpp"
#include "chain/stored_parts.hpp"
#include "store/cached_reader.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace blockpub {
namespace {

/// So many blocks of a long branch are listed at a time: most steps need only the first few.
constexpr std::uint32_t kPathChunk = 32;
/// A deep invalidation gives up on keeping the mempool after so many blocks.
constexpr unsigned kReturningDisconnects = 10;

bool may_pass(const Error& error) {
    return error.code == Errc::io || error.code == Errc::disk_full;
}

/// The next blocks on the way to `target` from a chain of `blocks_below` blocks, lowest first.
std::vector<HeaderNode*> next_on_path(HeaderNode& target, std::uint32_t blocks_below) {
    const std::uint32_t last = std::min(blocks_below + kPathChunk, target.height.value + 1);
    std::vector<HeaderNode*> path;
    for (HeaderNode* node = target.ancestor({last - 1}); path.size() < last - blocks_below;
         node = node->previous) {
        path.push_back(node);
    }
    std::ranges::reverse(path);
    return path;
}

}  // namespace

Result<std::optional<Verdict>> Activation::activate_best_chain(const ParsedBlock* fresh) {
    fresh_ = fresh;
    fresh_checked_.reset();
    HeaderNode* target = nullptr;
    do {
        const auto stepped = make_step(target);
        if (!stepped) return std::unexpected(stepped.error());
        if (!*stepped) break;
    } while (state_.active().tip() != target);
    fresh_ = nullptr;
    return std::exchange(fresh_checked_, std::nullopt);
}

/// One step; `target` is kept from step to step, and looked for again once it has proved invalid.
/// Result: whether there was anything to do.
Result<bool> Activation::make_step(HeaderNode*& target) {
    HeaderNode* const starting_tip = state_.active().tip();
    bool worked = false;
    do {
        if (target == nullptr) target = state_.find_best_candidate();
        if (const HeaderNode* const lost = state_.take_unreachable()) host_.branch_unreachable(*lost);
        if (target == nullptr || target == state_.active().tip()) break;
        const auto reached = extend_towards(*target);
        if (!reached) return std::unexpected(reached.error());
        worked = true;
        if (!*reached) target = nullptr;
        // Left on a worse tip by an invalid branch: the step is not over before that is made good.
    } while (state_.active().tip() == nullptr ||
             (starting_tip != nullptr && is_worse(*state_.active().tip(), *starting_tip)));
    if (!worked) return false;
    HeaderNode* const tip = state_.active().tip();
    HeaderNode* const fork = starting_tip == nullptr ? nullptr : state_.active().find_fork(*starting_tip);
    if (fork != tip) end_step_at(*tip, fork);
    if (auto made = host_.step_made(); !made) return std::unexpected(made.error());
    return true;
}

void Activation::end_step_at(HeaderNode& tip, const HeaderNode* fork) {
    EventRecord::StepEnd end;
    if (fork != nullptr) {
        end.fork_hash = fork->hash;
        end.fork_height = fork->height;
    }
    end.initial_download = host_.initial_download(tip);
    state_.changes().end_step(end);
    if (end.initial_download) {
        log_.debug("new tip {} at height {}", tip.hash.display_hex(), tip.height.value);
    } else {
        log_.info("new tip {} at height {}", tip.hash.display_hex(), tip.height.value);
    }
}

/// Disconnects to the fork point and connects until there is more work than before.
/// Result: false when the branch proved invalid.
Result<bool> Activation::extend_towards(HeaderNode& target) {
    const HeaderNode* const old_tip = state_.active().tip();
    const HeaderNode* const fork = state_.active().find_fork(target);
    while (state_.active().tip() != fork) {
        if (auto disconnected = disconnect_tip(); !disconnected) return std::unexpected(disconnected.error());
    }
    const std::size_t after_disconnects = state_.changes().release_count();
    const auto connected = connect_path(target, old_tip);
    if (!connected) return std::unexpected(connected.error());
    insert_mempool_events(after_disconnects, true);
    return *connected == Connect::done;
}

Result<Activation::Connect> Activation::connect_path(HeaderNode& target, const HeaderNode* old_tip) {
    while (state_.active().tip() != &target) {
        const HeaderNode* const tip = state_.active().tip();
        for (HeaderNode* node : next_on_path(target, tip == nullptr ? 0 : tip->height.value + 1)) {
            const auto connected = connect(*node);
            if (!connected || *connected != Connect::done) return connected;
            state_.prune_candidates();
            if (old_tip == nullptr || node->chainwork > old_tip->chainwork) return Connect::done;
        }
    }
    return Connect::done;
}

Result<Activation::Connect> Activation::connect(HeaderNode& node) {
    StoredBlock block(node, store_, fresh_);
    unsigned failures = 0;
    auto connected = coins_.connect(block);
    while (!connected) {
        if (block.lost()) {
            log_.error("{}; its branch is left until the block is given again", connected.error().context);
            state_.forget_block(node);
            return Connect::block_lost;
        }
        if (!may_pass(connected.error())) return std::unexpected(connected.error());
        if (!host_.wait_to_retry(connected.error(), ++failures)) return std::unexpected(connected.error());
        connected = coins_.connect(block);
    }
    const bool valid = connected->reject_reason.empty();
    if (fresh_ != nullptr && fresh_->hash() == node.hash) {
        fresh_checked_.emplace(valid ? Verdict()
                                     : reject(connected->reject_reason, connected->reject_message));
    }
    if (!valid) {
        log_.warning(
            "block {} at height {} is invalid: {}", node.hash.display_hex(), node.height.value,
            Rejection{.reason = connected->reject_reason, .message = connected->reject_message}.text());
        state_.mark_failed(node);
        return Connect::invalid;
    }
    if (auto stored = store_outcome(store_, state_, node, *connected); !stored)
        return std::unexpected(stored.error());
    state_.connect(node);
    expect_readers(block, *connected);
    follow_connect(block);
    return Connect::done;
}

/// What is at hand of a block that becomes the tip: readers need not get it from the disk.
void Activation::expect_readers(const StoredBlock& block, const CoinsEngine::Connected& connected) {
    StepChanges& changes = state_.changes();
    const auto expect = [&](auto part) {
        changes.expect_readers(BlockCache::item(block.hash(), std::move(part)));
    };
    if (const ParsedBlock* parsed = block.at_hand(); parsed != nullptr)
        expect(std::make_shared<const RawBlock>(RawBlock{parsed->raw()}));
    if (!connected.facts.empty()) expect(StoredFacts::of_encoded(connected.facts));
    if (!connected.undo.empty()) expect(StoredUndo::of_encoded(connected.undo));
}

/// Tells the mempool of a block that has been connected, and so has been read.
void Activation::follow_connect(StoredBlock& block) {
    if (!mempool_.follows_blocks()) return;
    const auto parsed = block.parsed();
    if (parsed) mempool_.block_connected(**parsed);
}

/// Ends the disconnects of a step: what they and its connects changed in the mempool is told between the two.
void Activation::insert_mempool_events(std::size_t place, bool return_to_mempool) {
    mempool_.end_disconnects(*state_.active().tip(), return_to_mempool);
    state_.changes().insert_mempool_events(place, mempool_.take_events());
}

Result<void> Activation::disconnect_tip() {
    StoredBlock block(*state_.active().tip(), store_, fresh_);
    unsigned failures = 0;
    auto disconnected = coins_.disconnect(block);
    while (!disconnected) {
        if (!may_pass(disconnected.error())) return disconnected;
        if (!host_.wait_to_retry(disconnected.error(), ++failures)) return disconnected;
        disconnected = coins_.disconnect(block);
    }
    if (const auto parsed = block.parsed()) mempool_.block_disconnected(**parsed);
    state_.changes().insert_mempool_events(state_.changes().release_count(), mempool_.take_events());
    state_.disconnect_tip();
    return {};
}

Result<void> Activation::invalidate(HeaderNode& node) {
    HeaderNode* above = nullptr;
    unsigned count = 0;
    while (state_.active().contains(node)) {
        HeaderNode& tip = *state_.active().tip();
        if (auto disconnected = disconnect_tip(); !disconnected) return disconnected;
        const std::size_t after_disconnect = state_.changes().release_count();
        insert_mempool_events(after_disconnect, ++count <= kReturningDisconnects);
        // Marked at once, with the step: a start after a crash must not walk back up.
        state_.mark_failed_alone(tip);
        if (above != nullptr) state_.mark_failed_child(*above);
        above = &tip;
        state_.add_candidate(*tip.previous);
        // One tip update for the whole way back, as Core has it: -blocknotify runs once.
        if (&tip == &node) end_step_at(*tip.previous, tip.previous);
        if (auto made = host_.step_made(); !made) return made;
    }
    state_.mark_failed(node);
    state_.refill_candidates();
    return {};
}

}  // namespace blockpub
