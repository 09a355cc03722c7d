// SPDX-License-Identifier: MIT
#include "chain/chain_start.hpp"

#include "base/clock.hpp"
#include "base/endian.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

namespace blockpub {
namespace {

constexpr std::size_t kBaseHashSize = 32;
constexpr std::size_t kBaseRecordSize = kBaseHashSize + 4;

constexpr std::chrono::seconds kTellFillingEvery{10};
constexpr std::uint32_t kWindow =
    8192;  // blocks from the lowest that is missing on, as far as they are looked for

std::string base_record(const HeaderNode& base) {
    std::string record(kBaseRecordSize, '\0');
    std::ranges::copy(base.hash.wire_bytes(), record.begin());
    write_le(reinterpret_cast<std::uint8_t*>(record.data()) + kBaseHashSize, base.height.value);
    return record;
}

}  // namespace

Result<void> ChainStart::load() {
    std::optional<std::string> record;
    auto snapshot = options_.store->snapshot();
    if (!snapshot) return forward_error(snapshot);
    auto found = snapshot->meta(kMetaKey);
    if (!found && found.error().code != Errc::not_found) return forward_error(found);
    if (found) record = std::move(*found);

    if (record && !record->empty()) return load_base(*record);
    if (options_.start_at_tip) return begin(record.has_value());
    if (record) {
        // It never came to a base: a chain like any other.
        state_.want_all();
        forget();
    }
    return {};
}

Result<void> ChainStart::load_base(std::string_view record) {
    const std::span bytes(reinterpret_cast<const std::uint8_t*>(record.data()), record.size());
    HeaderNode* node = nullptr;
    if (bytes.size() == kBaseRecordSize)
        node = state_.tree().find(BlockHash::from_wire(bytes.first<kBaseHashSize>()));
    const bool fits = node != nullptr &&
                      node->height.value == read_le<std::uint32_t>(bytes.data() + kBaseHashSize) &&
                      state_.active().contains(*node);
    if (!fits) return fail(Errc::corrupt, "meta record \"startat\" names no block of the chain");
    if (options_.start_at_tip) {
        base_ = node;
        log_.info(
            "The store begins above height {}: blocks up to there, and coins, are not here "
            "(-startat=tip).",
            node->height.value);
        return {};
    }
    if (node->height.value == 0) {
        forget();
        return {};
    }
    if (options_.prune.mode != PruneOptions::Mode::off) {
        return fail(
            Errc::invalid_argument,
            fmt::format("The store begins above height {} (-startat=tip), and is made whole by a start "
                        "without that: leave -prune out until it is.",
                        node->height.value));
    }
    base_ = node;
    log_.info(
        "The store begins above height {} (-startat=tip) and becomes a whole one: the blocks below are "
        "fetched, then the coins are made of them; notifications of new blocks go on meanwhile, of old "
        "ones there are none.",
        node->height.value);
    return {};
}

Result<void> ChainStart::begin(bool marked) {
    const HeaderNode* const tip = state_.active().tip();
    if (!marked && tip != nullptr && tip->height.value != 0) {
        return fail(Errc::invalid_argument,
                    fmt::format("-startat=tip begins a store, and this one has the blocks up to height {}: "
                                "leave it out, or give an empty -datadir=<dir>.",
                                tip->height.value));
    }
    pending_ = true;
    if (!marked) state_.changes().put_meta(std::string(kMetaKey), std::string());
    return {};
}

void ChainStart::forget() {
    state_.changes().put_meta(std::string(kMetaKey), std::nullopt);
}

std::string_view ChainStart::why_no_coins() const {
    if (options_.start_at_tip) return kNoCoinsAtTip;
    if (filling())
        return "Coins not available (pruned data): the store began at the tip (-startat=tip), and is being "
               "made whole";
    return {};
}

void ChainStart::header_added(const HeaderNode& node) {
    // At once, so that it goes to the disk with the header: all at the end would be one very large commit.
    const std::uint32_t depth = options_.start_depth;
    if (!pending_ || state_.best_header() != &node || node.height.value <= depth) return;
    state_.leave_out(*state_.best_header()->ancestor({node.height.value - depth}));
}

/// A node that is catching up itself shows a chain that ends too early.
bool ChainStart::is_current(const HeaderNode& last) {
    if (last.chainwork < options_.minimum_chainwork) return false;
    const std::int64_t age = options_.clock->now_seconds() - std::int64_t{last.time};
    if (age <= options_.max_tip_age.count()) return true;
    if (!std::exchange(told_of_age_, true)) {
        log_.warning(
            "The node's chain ends at height {}, {} hours ago: -startat=tip waits until it has caught "
            "up; to begin there give -maxtipage=<seconds>.",
            last.height.value, age / 3600);
    }
    return false;
}

void ChainStart::headers_end(HeaderNode& last) {
    const bool best = !last.failed() && last.chainwork >= state_.best_header()->chainwork;
    if (!pending_ || !best || !is_current(last)) return;
    HeaderNode& tip = *state_.active().tip();
    const std::uint32_t depth = std::min(options_.start_depth, last.height.value);
    HeaderNode* base = last.ancestor({last.height.value - depth});
    if (base->height < tip.height) base = &tip;
    if (base->ancestor(tip.height) != &tip) {
        if (!std::exchange(told_of_fork_, true)) {
            log_.error(
                "-startat=tip: the blocks up to height {} that are here are not of the node's chain: give "
                "an empty -datadir=<dir>.",
                tip.height.value);
        }
        return;
    }
    pending_ = false;
    base_ = base;
    if (base != &tip) state_.assume_below(*base);
    state_.changes().put_meta(std::string(kMetaKey), base_record(*base));
    log_.info("Headers are here up to height {}: the chain begins above height {} (-startat=tip)",
              last.height.value, base->height.value);
}

const HeaderNode* ChainStart::take_unreachable() {
    HeaderNode* const best = state_.best_header();
    HeaderNode* const tip = state_.active().tip();
    if (base_ == nullptr || std::exchange(seen_best_, best) == best) return nullptr;
    if (best->chainwork <= tip->chainwork || !is_below(*last_common_ancestor(best, tip))) return nullptr;
    return best;
}

Height ChainStart::blocks_below() {
    const ActiveChain& active = state_.active();
    const Height top = active.tip()->height;
    while (lowest_ < top && active.at(lowest_).block.present()) lowest_ = lowest_.next();
    return lowest_;
}

std::vector<const HeaderNode*> ChainStart::wanted(std::size_t count) {
    std::vector<const HeaderNode*> blocks;
    if (!filling()) return blocks;
    const ActiveChain& active = state_.active();
    const Height top = active.tip()->height;
    const Height lowest = blocks_below();
    const Height end = std::min(top, Height{lowest.value + kWindow});
    for (Height height = lowest; height < end && blocks.size() < count; height = height.next()) {
        if (const HeaderNode& node = active.at(height); !node.block.present()) blocks.push_back(&node);
    }
    return blocks;
}

void ChainStart::tell(Height coins) {
    const auto now = std::chrono::steady_clock::now();
    if (now - told_ < kTellFillingEvery) return;
    told_ = now;
    log_.info("Making the store whole: all blocks are here below height {}, coins of height {} of {}",
              blocks_below().value, coins.value, state_.active().tip()->height.value);
}

void ChainStart::finish() {
    log_.info("The store is whole: all blocks are here, and the coins of height {}",
              state_.active().tip()->height.value);
    base_ = nullptr;
    forget();
}

}  // namespace blockpub
