// SPDX-License-Identifier: MIT
#include "primitives/sha256_batch.hpp"

#include "base/check.hpp"
#include "base/endian.hpp"

#include <algorithm>
#include <cstring>

namespace blockpub {

using sha_ni::kBlock;

void Sha256dBatch::add(std::span<const ByteSpan> parts, Digest256& digest) {
    std::size_t size = 0;
    for (const ByteSpan part : parts) size += part.size();
    if (size > kLongest || !sha_ni::available()) {
        digest = sha256d(parts);
        return;
    }
    Lane& lane = lanes_[lanes_[0].digest == nullptr ? 0 : 1];
    lane.digest = &digest;
    load(lane, parts);
    while (lanes_[0].digest != nullptr && lanes_[1].digest != nullptr) step();
}

void Sha256dBatch::finish() {
    for (Lane& lane : lanes_) {
        while (lane.digest != nullptr) {
            sha_ni::compress(lane.state, lane.at, lane.blocks_left);
            end_hash(lane);
        }
    }
}

void Sha256dBatch::load(Lane& lane, std::span<const ByteSpan> parts) {
    std::uint8_t* end = lane.message.data();
    for (const ByteSpan part : parts) {
        if (!part.empty()) std::memcpy(end, part.data(), part.size());
        end += part.size();
    }
    const auto size = static_cast<std::size_t>(end - lane.message.data());
    lane.blocks_left = (size + kPadding + kBlock - 1) / kBlock;
    std::uint8_t* const padded = lane.message.data() + lane.blocks_left * kBlock;
    *end = 0x80;
    std::memset(end + 1, 0, static_cast<std::size_t>(padded - end) - 1);
    write_be<std::uint64_t>(padded - 8, std::uint64_t{size} * 8);
    lane.state = sha_ni::kInitial;
    lane.at = lane.message.data();
    lane.second = false;
}

void Sha256dBatch::end_hash(Lane& lane) {
    Digest256 digest;
    for (std::size_t i = 0; i < lane.state.size(); ++i) write_be(digest.data() + 4 * i, lane.state[i]);
    if (lane.second) {
        *lane.digest = digest;
        lane.digest = nullptr;
        return;
    }
    const ByteSpan inner(digest);
    load(lane, std::span(&inner, 1));
    lane.second = true;
}

/// Takes both messages as far as the shorter one goes.
void Sha256dBatch::step() {
    Lane& a = lanes_[0];
    Lane& b = lanes_[1];
    const std::size_t count = std::min(a.blocks_left, b.blocks_left);
    sha_ni::compress_two(a.state, a.at, b.state, b.at, count);
    for (Lane* const lane : {&a, &b}) {
        lane->at += count * kBlock;
        lane->blocks_left -= count;
        if (lane->blocks_left == 0) end_hash(*lane);
    }
}

}  // namespace blockpub
