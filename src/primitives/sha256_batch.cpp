// SPDX-License-Identifier: MIT
#include "primitives/sha256_batch.hpp"

#include "base/check.hpp"
#include "base/endian.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace blockpub {

using sha_ni::kBlock;

namespace {

/// Sixteen at a time take as long as some seven do two by two.
constexpr std::size_t kWorthSixteen = 7;

/// What follows a digest to a whole block: its end, and its 256 bits of length.
constexpr auto kDigestPadding = [] {
    std::array<std::uint8_t, 32> padding{0x80};
    padding[30] = 1;
    return padding;
}();

}  // namespace

Sha256dBatch::Width Sha256dBatch::widest() noexcept {
    if (sha_avx512::available()) return Width::sixteen;
    return sha_ni::available() ? Width::two : Width::one;
}

Sha256dBatch::Sha256dBatch(Width width) noexcept
    : width_(width),
      lane_count_(width == Width::one ? 0 : static_cast<std::size_t>(width)),
      wide_(width == Width::sixteen) {}

void Sha256dBatch::add(std::span<const ByteSpan> parts, Digest256& digest) {
    std::size_t size = 0;
    for (const ByteSpan part : parts) size += part.size();
    if (size > kLongest || lane_count_ == 0) {
        digest = sha256d(parts);
        return;
    }
    std::size_t lane = 0;
    while (lanes_[lane].digest != nullptr) ++lane;
    lanes_[lane].digest = &digest;
    load(lanes_[lane], parts);
    ++busy_;
    while (busy_ == lane_count_) {
        if (wide_) {
            step_sixteen();
        } else {
            step_two(lanes_[0], lanes_[1]);
        }
    }
}

void Sha256dBatch::finish() {
    if (wide_) {
        // What is left after that goes on two by two.
        const std::size_t worth_it = sha_ni::available() ? kWorthSixteen : 1;
        while (busy_ >= worth_it) step_sixteen();
        for (std::size_t i = 0; i < lane_count_; ++i) lanes_[i].state = states_.of(i);
        wide_ = false;
    }
    while (busy_ != 0) {
        Lane* pair[2];
        std::size_t found = 0;
        for (std::size_t i = 0; i < lane_count_ && found < 2; ++i) {
            if (lanes_[i].digest != nullptr) pair[found++] = &lanes_[i];
        }
        if (found == 2) {
            step_two(*pair[0], *pair[1]);
        } else {
            Lane& lane = *pair[0];
            sha_ni::compress(lane.state, lane.at, lane.blocks_left);
            end_hash(lane, lane.state.data(), 1);
        }
    }
    wide_ = width_ == Width::sixteen;
}

void Sha256dBatch::load(Lane& lane, std::span<const ByteSpan> parts) {
    std::uint8_t* end = lane.message.data();
    for (const ByteSpan part : parts) {
        if (!part.empty()) std::memcpy(end, part.data(), part.size());
        end += part.size();
    }
    const auto size = static_cast<std::size_t>(end - lane.message.data());
    *end = 0x80;
    std::memset(end + 1, 0, kBlock);
    const std::size_t blocks = (size + kPadding + kBlock - 1) / kBlock;
    write_be<std::uint64_t>(lane.message.data() + blocks * kBlock - 8, std::uint64_t{size} * 8);
    lane.second = false;
    begin_hash(lane, blocks);
}

void Sha256dBatch::begin_hash(Lane& lane, std::size_t blocks) {
    lane.at = lane.message.data();
    lane.blocks_left = blocks;
    if (wide_) {
        states_.set(static_cast<std::size_t>(&lane - lanes_.data()), sha_ni::kInitial);
    } else {
        lane.state = sha_ni::kInitial;
    }
}

/// Word i of the state is words[i * stride].
void Sha256dBatch::end_hash(Lane& lane, const std::uint32_t* words, std::size_t stride) {
    std::uint8_t* const to = lane.second ? lane.digest->data() : lane.message.data();
    for (std::size_t i = 0; i < lane.state.size(); ++i) write_be(to + 4 * i, words[i * stride]);
    if (lane.second) {
        lane.digest = nullptr;
        --busy_;
        return;
    }
    std::memcpy(lane.message.data() + kDigestPadding.size(), kDigestPadding.data(), kDigestPadding.size());
    lane.second = true;
    begin_hash(lane, 1);
}

bool Sha256dBatch::Lane::advance(std::size_t blocks) {
    at += blocks * kBlock;
    blocks_left -= blocks;
    return blocks_left == 0;
}

/// Takes both messages as far as the shorter one goes.
void Sha256dBatch::step_two(Lane& a, Lane& b) {
    const std::size_t count = std::min(a.blocks_left, b.blocks_left);
    sha_ni::compress_two(a.state, a.at, b.state, b.at, count);
    for (Lane* const lane : {&a, &b}) {
        if (lane->advance(count)) end_hash(*lane, lane->state.data(), 1);
    }
}

/// Takes all messages as far as the shortest one goes.
void Sha256dBatch::step_sixteen() {
    std::size_t count = std::numeric_limits<std::size_t>::max();
    const std::uint8_t* any = nullptr;
    for (const Lane& lane : lanes_) {
        if (lane.digest == nullptr || lane.blocks_left >= count) continue;
        count = lane.blocks_left;
        any = lane.at;
    }
    std::array<const std::uint8_t*, sha_avx512::kLanes> blocks;
    for (std::size_t i = 0; i < blocks.size(); ++i)
        blocks[i] = lanes_[i].digest != nullptr ? lanes_[i].at : any;
    sha_avx512::compress(states_, blocks, count);
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        Lane& lane = lanes_[i];
        if (lane.digest != nullptr && lane.advance(count))
            end_hash(lane, &states_.words[0][i], sha_avx512::kLanes);
    }
}

}  // namespace blockpub
