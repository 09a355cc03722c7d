// SPDX-License-Identifier: MIT
#include "chain/waiting_blocks.hpp"

#include "base/endian.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace blockpub {
namespace {

constexpr std::string_view kPrefix = "waiting/";
constexpr std::size_t kParentSize = BlockHash::kSize;
constexpr std::size_t kSegmentOffset = kParentSize;
constexpr std::size_t kNumberOffset = kSegmentOffset + 4;
constexpr std::size_t kSizeOffset = kNumberOffset + 8;
constexpr std::size_t kRecordSize = kSizeOffset + 4;

/// Blocks that may wait at any limit, and one more for each so many bytes of it: smaller ones are rare in a
/// chain.
constexpr std::uint64_t kFewBlocks = 10'000;
constexpr std::uint64_t kBytesPerBlock = 1024;

std::string record_key(const BlockHash& hash) {
    return std::string(kPrefix) + hash.display_hex();
}

std::string encode_record(const BlockHash& parent, const BlobPlace& place) {
    std::string out(kRecordSize, '\0');
    auto* const bytes = reinterpret_cast<std::uint8_t*>(out.data());
    std::ranges::copy(parent.wire_bytes(), bytes);
    write_le(bytes + kSegmentOffset, place.segment);
    write_le(bytes + kNumberOffset, place.number);
    write_le(bytes + kSizeOffset, place.size);
    return out;
}

}  // namespace

Result<void> WaitingBlocks::load(const Store& store) {
    return store.scan_meta(kPrefix, [&](std::string_view key, std::string_view value) -> Result<void> {
        const auto hash = BlockHash::from_display_hex(key.substr(kPrefix.size()));
        if (!hash || value.size() != kRecordSize) {
            return fail(Errc::corrupt, fmt::format("record {} of table meta is damaged", key));
        }
        const auto* const bytes = reinterpret_cast<const std::uint8_t*>(value.data());
        BlobPlace place;
        place.segment = read_le<std::uint32_t>(bytes + kSegmentOffset);
        place.number = read_le<std::uint64_t>(bytes + kNumberOffset);
        place.size = read_le<std::uint32_t>(bytes + kSizeOffset);
        remember(BlockHash::from_wire({bytes, kParentSize}), {.hash = *hash, .place = place});
        return {};
    });
}

bool WaitingBlocks::has_room_for(std::uint64_t size) const {
    if (blocks_.size() >= kFewBlocks + limit_ / kBytesPerBlock) return false;
    return size <= limit_ && bytes_ <= limit_ - size;
}

void WaitingBlocks::remember(const BlockHash& parent, const Waiting& block) {
    by_parent_[parent].insert(block);
    blocks_.emplace(block.hash, Entry{.parent = parent, .place = block.place});
    bytes_ += block.place.size;
}

void WaitingBlocks::add(const BlockHash& parent, const Waiting& block, StepChanges& changes) {
    remember(parent, block);
    changes.put_meta(record_key(block.hash), encode_record(parent, block.place));
}

std::optional<WaitingBlocks::Waiting> WaitingBlocks::next_child(const BlockHash& parent) const {
    const auto found = by_parent_.find(parent);
    if (found == by_parent_.end()) return std::nullopt;
    return *found->second.begin();
}

void WaitingBlocks::remove(const BlockHash& hash, StepChanges& changes) {
    const auto found = blocks_.find(hash);
    if (found == blocks_.end()) return;
    const auto siblings = by_parent_.find(found->second.parent);
    siblings->second.erase(Waiting{.hash = hash, .place = found->second.place});
    if (siblings->second.empty()) by_parent_.erase(siblings);
    bytes_ -= found->second.place.size;
    blocks_.erase(found);
    changes.put_meta(record_key(hash), std::nullopt);
}

std::vector<BlockHash> WaitingBlocks::parents() const {
    std::vector<BlockHash> out;
    out.reserve(by_parent_.size());
    for (const auto& [parent, children] : by_parent_) out.push_back(parent);
    return out;
}

}  // namespace blockpub
