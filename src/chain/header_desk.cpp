// SPDX-License-Identifier: MIT
#include "chain/header_desk.hpp"

#include "base/check.hpp"

#include <algorithm>

namespace blockpub {
namespace {

constexpr std::uint32_t kWorkBlocks = 144;  // that a branch may be behind
constexpr std::size_t kDenseLocator = 10;   // hashes without a gap

HeaderDesk::Point point_of(const HeaderNode& node) {
    return {.hash = node.hash,
            .height = node.height,
            .chainwork = node.chainwork,
            .bits = node.bits,
            .failed = node.failed()};
}

}  // namespace

HeaderDesk::Point HeaderDesk::tip() const {
    return point_of(*state_.active().tip());
}

HeaderDesk::Point HeaderDesk::best_header() const {
    return point_of(*state_.best_header());
}

std::optional<HeaderDesk::Point> HeaderDesk::find(const BlockHash& hash) const {
    const HeaderNode* const node = state_.tree().find(hash);
    if (node == nullptr) return std::nullopt;
    return point_of(*node);
}

BlockHash HeaderDesk::before(const BlockHash& hash) const {
    const HeaderNode* const node = state_.tree().find(hash);
    BLOCKPUB_CHECK(node != nullptr);
    return node->previous == nullptr ? node->hash : node->previous->hash;
}

HeaderDesk::Taken HeaderDesk::take(std::span<const BlockHeader> headers) {
    Taken taken;
    for (const BlockHeader& header : headers) {
        const BlockHash hash = header.hash();
        const bool known = state_.tree().find(hash) != nullptr;
        auto accepted = acceptance_.accept_header(header, hash);
        if (accepted.rejection) {
            taken.rejection = std::move(accepted.rejection);
            break;
        }
        taken.last = point_of(*accepted.node);
        if (known) continue;
        start_.header_added(*accepted.node);
        header_arrived_(hash);
    }
    return taken;
}

void HeaderDesk::headers_end(const BlockHash& last) {
    HeaderNode* const node = state_.tree().find(last);
    BLOCKPUB_CHECK(node != nullptr);
    start_.headers_end(*node);
}

std::vector<BlockHash> HeaderDesk::locator(const BlockHash& from) const {
    const HeaderNode* node = state_.tree().find(from);
    BLOCKPUB_CHECK(node != nullptr);
    std::vector<BlockHash> hashes;
    std::uint32_t step = 1;
    while (true) {
        hashes.push_back(node->hash);
        if (node->height.value == 0) return hashes;
        if (hashes.size() > kDenseLocator) step *= 2;
        node = node->ancestor({node->height.value - std::min(step, node->height.value)});
    }
}

std::vector<HeaderDesk::Missing> HeaderDesk::missing_blocks(const BlockHash& end, std::size_t reach) const {
    HeaderNode* const node = state_.tree().find(end);
    HeaderNode* const tip = state_.active().tip();
    if (start_.pending() || node == nullptr || node->failed() || node->chainwork < minimum_chainwork_)
        return {};
    const HeaderNode* const fork = last_common_ancestor(node, tip);
    std::vector<Missing> missing;
    if (node->chainwork >= tip->chainwork && !start_.is_below(*fork)) {
        const std::uint64_t top =
            std::min<std::uint64_t>(node->height.value, std::uint64_t{fork->height.value} + reach);
        for (const HeaderNode* at = node->ancestor({static_cast<std::uint32_t>(top)}); at != fork;
             at = at->previous) {
            if (!at->block.present()) missing.push_back({at->hash, at->height});
        }
        std::ranges::reverse(missing);
    }
    for (const HeaderNode* wanted : start_.wanted(reach - missing.size())) {
        if (wanted->height <= fork->height) missing.push_back({wanted->hash, wanted->height});
    }
    return missing;
}

Uint256 HeaderDesk::least_work() const {
    const HeaderNode& tip = *state_.active().tip();
    const Uint256 behind = block_work(tip.bits) * kWorkBlocks;
    const Uint256 near_tip = tip.chainwork - std::min(behind, tip.chainwork);
    return std::max(near_tip, minimum_chainwork_);
}

}  // namespace blockpub
