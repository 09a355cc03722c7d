// SPDX-License-Identifier: MIT
#include "chain/pruner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace blockpub {
namespace {

constexpr std::string_view kMetaPrefix = "pruning/";
/// Files that share a commit.
constexpr std::size_t kBatchSegments = 16;
/// Core's border between heights and times.
constexpr std::int64_t kLargestHeight = 1'000'000'000;
/// How far block times may be out of order.
constexpr std::int64_t kTimeWindow = 2 * 60 * 60;
constexpr std::chrono::seconds kTellEvery{5};
/// Nothing refers to the segment, or something always will.
constexpr std::int64_t kUnused = -1;
constexpr std::int64_t kNeeded = std::numeric_limits<std::int64_t>::max();

std::string meta_key(std::uint32_t segment) {
    return fmt::format("{}{:05}", kMetaPrefix, segment);
}

Result<std::uint32_t> segment_of(std::string_view key) {
    std::uint32_t number = 0;
    const char* const end = key.data() + key.size();
    const auto [stop, error] = std::from_chars(key.data() + kMetaPrefix.size(), end, number);
    if (error != std::errc{} || stop != end)
        return fail(Errc::corrupt, fmt::format("meta record \"{}\"", key));
    return number;
}

template <class Visit>
void for_each_place(const HeaderNode& node, Visit&& visit) {
    for (const PackedPlace* place : {&node.block, &node.undo, &node.facts}) {
        if (place->present()) visit(place->segment);
    }
}

}  // namespace

Pruner::Pruner(const PruneOptions& options, ChainState& state, const WaitingBlocks& waiting, Store& store,
               const Log& log)
    : options_(options), state_(state), waiting_(waiting), store_(store), log_(log) {}

Result<void> Pruner::load(bool explained) {
    auto scanned = store_.scan_meta(kMetaPrefix, [&](std::string_view key, std::string_view) -> Result<void> {
        const auto segment = segment_of(key);
        if (!segment) return std::unexpected(segment.error());
        doomed_.push_back(*segment);
        return {};
    });
    if (!scanned) return scanned;
    find_pruned_to(state_.active().tip());
    if (pruned_to_ && options_.mode == PruneOptions::Mode::off && !explained) {
        log_.warning(
            "Blocks up to height {} were pruned and are not here; without -prune all others are kept.",
            pruned_to_->value);
    }
    // What cannot be removed now is no reason not to start.
    static_cast<void>(remove_files());
    return {};
}

bool Pruner::note_base(const HeaderNode* base) {
    if (base == nullptr || base->height.value == 0 || pruned_to_) return false;
    find_pruned_to(state_.active().tip());
    return pruned_to_.has_value();
}

void Pruner::note_filled() {
    if (!pruned_to_) return;
    const HeaderNode& highest = state_.active().at(*pruned_to_);
    if (!highest.pruned()) find_pruned_to(&highest);
}

void Pruner::find_pruned_to(const HeaderNode* from) {
    const HeaderNode* node = from;
    while (node != nullptr && node->height.value != 0 && !node->pruned()) node = node->previous;
    pruned_to_.reset();
    if (node != nullptr && node->height.value != 0) pruned_to_ = node->height;
}

std::optional<Height> Pruner::limit() const {
    const HeaderNode* const tip = state_.active().tip();
    if (tip == nullptr || tip->height.value <= options_.after_height) return std::nullopt;
    if (tip->height.value <= options_.keep_blocks) return std::nullopt;
    return Height{tip->height.value - options_.keep_blocks};
}

Result<Height> Pruner::limit_of(std::int64_t height_or_time) const {
    if (options_.mode == PruneOptions::Mode::off)
        return fail(Errc::unavailable, "Cannot prune blocks because node is not in prune mode.");
    if (height_or_time < 0) return fail(Errc::invalid_argument, "Negative block height.");
    const std::uint32_t tip = state_.active().tip()->height.value;
    std::int64_t wanted = height_or_time;
    if (height_or_time > kLargestHeight) {
        // The first block from which on the highest time so far is late enough.
        const HeaderNode* const node = state_.active().first_at_least(height_or_time - kTimeWindow);
        if (node == nullptr) {
            return fail(Errc::invalid_argument,
                        "Could not find block with at least the specified timestamp.");
        }
        wanted = node->height.value;
    }
    if (tip < options_.after_height) return fail(Errc::unavailable, "Blockchain is too short for pruning.");
    if (wanted > tip)
        return fail(Errc::invalid_argument, "Blockchain is shorter than the attempted prune height.");
    const std::int64_t highest = std::int64_t{tip} - options_.keep_blocks;
    return Height{static_cast<std::uint32_t>(std::max(std::int64_t{0}, std::min(wanted, highest)))};
}

std::uint64_t Pruner::excess() {
    if (options_.mode != PruneOptions::Mode::automatic) return 0;
    const StoreStatus status = store_.status();
    const std::uint64_t used = status.blob_bytes_on_disk + status.pending_bytes + options_.reserve_bytes;
    if (used <= options_.target_bytes) return 0;
    const auto highest = limit();
    if (!highest) return 0;
    if (seen_last_segment_ && *highest < blocked_below_) {
        const auto sealed = store_.sealed_segments();
        if (sealed.empty() || sealed.back().number == *seen_last_segment_) return 0;
    }
    return used - options_.target_bytes;
}

/// By number: the highest block of which the segment has a part.
std::vector<std::int64_t> Pruner::highest_by_segment(std::size_t count) const {
    std::vector<std::int64_t> highest(count, kUnused);
    state_.tree().for_each([&](const HeaderNode& node) {
        for_each_place(node, [&](std::uint32_t segment) {
            if (segment < count)
                highest[segment] = std::max(highest[segment], std::int64_t{node.height.value});
        });
    });
    waiting_.for_each_place([&](const BlobPlace& place) {
        if (place.segment < count) highest[place.segment] = kNeeded;
    });
    return highest;
}

Pruner::Batch Pruner::choose(Height limit, std::uint64_t bytes) {
    Batch batch;
    const auto sealed = store_.sealed_segments();
    if (sealed.empty()) return batch;
    const auto highest = highest_by_segment(sealed.back().number + std::size_t{1});
    std::vector<bool> goes(highest.size(), false);
    std::int64_t lowest_kept = kNeeded;
    for (const Store::SealedSegment& segment : sealed) {
        const std::int64_t top = highest[segment.number];
        if (std::ranges::find(doomed_, segment.number) != doomed_.end()) continue;
        const bool may_go = top <= std::int64_t{limit.value};
        if (!may_go || batch.bytes >= bytes || batch.segments.size() == kBatchSegments) {
            batch.more = batch.more || (may_go && batch.bytes < bytes);
            lowest_kept = std::min(lowest_kept, top);
            continue;
        }
        goes[segment.number] = true;
        batch.segments.push_back(segment.number);
        batch.bytes += segment.bytes;
    }
    seen_last_segment_ = sealed.back().number;
    blocked_below_ = Height{static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(lowest_kept, 0, std::numeric_limits<std::uint32_t>::max()))};
    if (batch.segments.empty()) return batch;
    state_.tree().for_each([&](HeaderNode& node) {
        bool concerned = false;
        for_each_place(node, [&](std::uint32_t segment) {
            concerned = concerned || (segment < goes.size() && goes[segment]);
        });
        if (!concerned) return;
        batch.blocks.push_back(&node);
        batch.highest = std::max(batch.highest, node.height);
    });
    return batch;
}

void Pruner::mark(const Batch& batch, Height limit) {
    tell(batch, limit);
    for (HeaderNode* const node : batch.blocks) state_.give_up_block(*node);
    if (!batch.blocks.empty())
        state_.changes().add_event(BlockEventKind::pruned, *state_.active().tip()->ancestor(batch.highest));
    for (const std::uint32_t segment : batch.segments) {
        state_.changes().put_meta(meta_key(segment), std::string());
        doomed_.push_back(segment);
    }
    find_pruned_to(state_.active().tip());
}

Result<void> Pruner::remove_files() {
    if (doomed_.empty()) return {};
    if (auto removed = store_.remove_segments(doomed_); !removed) {
        if (!std::exchange(removal_failed_, true)) {
            log_.error("pruning: {}; the file is of no use any more, and is tried again later",
                       removed.error().context);
        }
        return removed;
    }
    removal_failed_ = false;
    for (const std::uint32_t segment : doomed_) state_.changes().put_meta(meta_key(segment), std::nullopt);
    doomed_.clear();
    return {};
}

/// One line before a row of batches begins, and one every few seconds while it lasts.
void Pruner::tell(const Batch& batch, Height limit) {
    const auto now = std::chrono::steady_clock::now();
    if (!run_) {
        log_.info("pruning: giving up {} blocks up to height {}, {} MiB in {} segment files{}",
                  batch.blocks.size(), batch.highest.value, batch.bytes >> 20, batch.segments.size(),
                  batch.more ? fmt::format("; on the way to height {}", limit.value) : std::string());
        run_ = Run{.began = now, .told = now, .first = pruned_to_.value_or(Height{0})};
    } else if (now - run_->told >= kTellEvery) {
        run_->told = now;
        const double seconds = std::chrono::duration<double>(now - run_->began).count();
        const double rate = (batch.highest.value - std::min(run_->first, batch.highest).value) / seconds;
        const double left =
            limit.value > batch.highest.value && rate > 0 ? (limit.value - batch.highest.value) / rate : 0;
        log_.info("pruning: height {} of {}, {:.0f} blocks/s, {:.0f} s left", batch.highest.value,
                  limit.value, rate, left);
    }
    if (!batch.more) run_.reset();
}

}  // namespace blockpub
