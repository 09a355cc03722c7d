// SPDX-License-Identifier: MIT
#include "chain/header_tree.hpp"

#include "base/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

namespace blockpub {
namespace {

constexpr std::size_t kMedianTimeSpan = 11;

std::uint32_t clear_lowest_bit(std::uint32_t n) {
    return n & (n - 1);
}

/// Height of the ancestor that `skip` points to: far enough back for a logarithmic walk, and near enough that
/// the walk need not overshoot. (Core's GetSkipHeight)
std::uint32_t skip_height(std::uint32_t height) {
    if (height < 2) return 0;
    return (height & 1) != 0 ? clear_lowest_bit(clear_lowest_bit(height - 1)) + 1 : clear_lowest_bit(height);
}

/// Whether the skip link is the better next step on the way down to `wanted`.
bool should_skip(std::uint32_t height, std::uint32_t wanted) {
    const std::uint32_t by_skip = skip_height(height);
    if (by_skip == wanted) return true;
    if (by_skip < wanted) return false;
    // The parent's own skip may land better, between the target and ours.
    const std::uint32_t by_parent = skip_height(height - 1);
    return !(by_parent + 2 < by_skip && by_parent >= wanted);
}

void set_header(HeaderNode& node, const BlockHeader& header) {
    node.version = header.version;
    node.merkle_root = header.merkle_root;
    node.time = header.time;
    node.bits = header.bits;
    node.nonce = header.nonce;
}

void set_record(HeaderNode& node, const BlockHash& hash, const HeaderRecord& record,
                const BlockHeader& header) {
    node.hash = hash;
    set_header(node, header);
    node.height = record.height;
    node.chainwork = Uint256::from_big_endian(record.chainwork);
    node.status = record.status;
    node.arrival = record.arrival;
    node.sequence = static_cast<std::int64_t>(record.arrival);
    node.tx_count = record.tx_count;
    node.chain_tx_count = record.chain_tx_count;
    node.block = PackedPlace(record.block);
    node.undo = PackedPlace(record.undo);
    node.facts = PackedPlace(record.facts);
}

/// For each record in key order: its position when all are ordered by height.
Result<std::vector<std::uint32_t>> positions_by_height(const Store& store) {
    std::vector<std::uint32_t> heights;
    auto scanned = store.scan_headers([&](const BlockHash&, const HeaderRecord& record) -> Result<void> {
        heights.push_back(record.height.value);
        return {};
    });
    if (!scanned) return forward_error(scanned);
    std::vector<std::uint32_t> begins(heights.size() + 1);
    for (const std::uint32_t height : heights) {
        // Each height below it has a header, too.
        if (height >= heights.size()) {
            return fail(Errc::corrupt, fmt::format("a header at height {}, but there are {} headers in all",
                                                   height, heights.size()));
        }
        ++begins[height + std::size_t{1}];
    }
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    for (std::uint32_t& height : heights) height = begins[height]++;
    return heights;
}

}  // namespace

BlockHeader HeaderNode::header() const {
    BlockHeader out;
    out.version = version;
    if (previous != nullptr) out.previous = previous->hash;
    out.merkle_root = merkle_root;
    out.time = time;
    out.bits = bits;
    out.nonce = nonce;
    return out;
}

HeaderRecord HeaderNode::record() const {
    HeaderRecord out;
    out.header = header().encode();
    out.height = height;
    out.chainwork = chainwork.big_endian();
    out.status = status;
    out.arrival = arrival;
    out.tx_count = tx_count;
    out.chain_tx_count = chain_tx_count;
    out.block = block.place();
    out.undo = undo.place();
    out.facts = facts.place();
    return out;
}

HeaderNode* HeaderNode::ancestor(Height wanted) {
    BLOCKPUB_CHECK(wanted <= height, "{} above {}", wanted.value, height.value);
    HeaderNode* walk = this;
    while (walk->height != wanted) {
        const bool skips = walk->skip != nullptr && should_skip(walk->height.value, wanted.value);
        walk = skips ? walk->skip : walk->previous;
    }
    return walk;
}

const HeaderNode* HeaderNode::ancestor(Height wanted) const {
    return const_cast<HeaderNode*>(this)->ancestor(wanted);  // The walk changes nothing.
}

std::int64_t HeaderNode::median_time_past() const {
    std::array<std::uint32_t, kMedianTimeSpan> times;
    std::size_t count = 0;
    for (const HeaderNode* node = this; node != nullptr && count < times.size(); node = node->previous) {
        times[count++] = node->time;
    }
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(count / 2);
    std::nth_element(times.begin(), middle, times.begin() + static_cast<std::ptrdiff_t>(count));
    return *middle;
}

bool is_worse(const HeaderNode& a, const HeaderNode& b) {
    if (a.chainwork != b.chainwork) return a.chainwork < b.chainwork;
    if (a.sequence != b.sequence) return a.sequence > b.sequence;
    return a.hash > b.hash;
}

HeaderNode* last_common_ancestor(HeaderNode* a, HeaderNode* b) {
    const Height lower = std::min(a->height, b->height);
    a = a->ancestor(lower);
    b = b->ancestor(lower);
    while (a != b) {
        // Both branches have their skip links at the same heights: jump while that stays above the fork.
        const bool skips = a->skip != b->skip && a->skip != nullptr && b->skip != nullptr;
        a = skips ? a->skip : a->previous;
        b = skips ? b->skip : b->previous;
    }
    return a;
}

HeaderNode* HeaderTree::find(const BlockHash& hash) const {
    return by_hash_.find(hash);
}

HeaderNode& HeaderTree::insert(const BlockHeader& header, const BlockHash& hash, HeaderNode* previous) {
    HeaderNode& node = added_.emplace_back();
    node.hash = hash;
    set_header(node, header);
    node.chainwork = block_work(header.bits);
    if (previous != nullptr) {
        node.height = previous->height.next();
        node.chainwork = previous->chainwork + node.chainwork;
    }
    link(node, previous);
    const bool fresh = by_hash_.insert(node);
    BLOCKPUB_CHECK(fresh, "header {} twice", hash.display_hex());
    return node;
}

void HeaderTree::link(HeaderNode& node, HeaderNode* previous) {
    node.previous = previous;
    if (previous == nullptr) {
        BLOCKPUB_CHECK(genesis_ == nullptr, "a second root {}", node.hash.display_hex());
        genesis_ = &node;
        return;
    }
    node.skip = previous->ancestor({skip_height(node.height.value)});
    node.next_sibling = previous->first_child;
    previous->first_child = &node;
}

Result<void> HeaderTree::load(const Store& store) {
    const auto positions = positions_by_height(store);
    if (!positions) return std::unexpected(positions.error());
    loaded_.resize(positions->size());
    std::vector<BlockHash> previous_hashes(positions->size());
    std::size_t next = 0;
    auto scanned = store.scan_headers([&](const BlockHash& hash, const HeaderRecord& record) -> Result<void> {
        BLOCKPUB_CHECK(next < positions->size(), "the header table grew while it was read");
        const std::size_t position = (*positions)[next++];
        const BlockHeader header = BlockHeader::decode(record.header);
        set_record(loaded_[position], hash, record, header);
        previous_hashes[position] = header.previous;
        return {};
    });
    if (!scanned) return scanned;
    return link_loaded(previous_hashes);
}

/// Requires: loaded_ has parents before children.
Result<void> HeaderTree::link_loaded(const std::vector<BlockHash>& previous_hashes) {
    by_hash_.reserve(loaded_.size());
    for (std::size_t i = 0; i < loaded_.size(); ++i) {
        HeaderNode& node = loaded_[i];
        const bool is_root = previous_hashes[i].is_null();
        HeaderNode* const previous = is_root ? nullptr : find(previous_hashes[i]);
        const bool fits =
            is_root ? node.height.value == 0 : previous != nullptr && previous->height.next() == node.height;
        if (!fits)
            return fail(Errc::corrupt,
                        fmt::format("header {} does not follow from its parent", node.hash.display_hex()));
        if (is_root && genesis_ != nullptr)
            return fail(Errc::corrupt, "two genesis blocks in the header table");
        const bool fresh = by_hash_.insert(node);
        BLOCKPUB_CHECK(fresh, "header {} twice", node.hash.display_hex());
        link(node, previous);
    }
    return {};
}

}  // namespace blockpub
