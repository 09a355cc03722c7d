// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/sha256.hpp"
#include "primitives/sha256_avx512.hpp"
#include "primitives/sha256_ni.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace blockpub {

/// sha256d of many messages, two or sixteen at a time where the processor has instructions for it: the
/// transactions of a block, the nodes of a merkle tree.
///
/// Thread safety: one thread at a time.
/// Ownership: copies a message when it is added; borrows where its digest goes.
class Sha256dBatch {
 public:
    /// How many messages side by side.
    enum class Width : std::uint8_t { one = 1, two = 2, sixteen = sha_avx512::kLanes };

    Sha256dBatch() noexcept : Sha256dBatch(widest()) {}
    /// Requires: not wider than `widest`, or one.
    explicit Sha256dBatch(Width width) noexcept;
    /// What this processor can do.
    [[nodiscard]] static Width widest() noexcept;

    /// Hashes the message that the parts make one after the other. `digest` is written now or by a later
    /// call, `finish` at the latest, and must not move before.
    void add(std::span<const ByteSpan> parts, Digest256& digest);
    void add(ByteSpan message, Digest256& digest) { add(std::span(&message, 1), digest); }
    /// Writes all digests that are left. Requires: before the end of each batch.
    void finish();

 private:
    /// Longer messages are not copied, and hashed one at a time.
    static constexpr std::size_t kLongest = 4096;
    static constexpr std::size_t kPadding = 9;  // at least

    struct Lane {
        alignas(
            sha_ni::kBlock) std::array<std::uint8_t, kLongest + kPadding + sha_ni::kBlock> message;  // padded
        sha_ni::State state;
        const std::uint8_t* at = nullptr;
        std::size_t blocks_left = 0;
        bool second = false;          // of the two hashes
        Digest256* digest = nullptr;  // null: the lane is free

        /// Whether that was the last block.
        bool advance(std::size_t blocks);
    };

    void load(Lane& lane, std::span<const ByteSpan> parts);
    void begin_hash(Lane& lane, std::size_t blocks);
    /// Goes on to the second hash, or ends the message.
    void end_hash(Lane& lane, const std::uint32_t* words, std::size_t stride);
    void step_two(Lane& a, Lane& b);
    void step_sixteen();

    Width width_;
    std::size_t lane_count_;  // 0 where messages are hashed one at a time
    std::size_t busy_ = 0;
    bool wide_;  // the states are in states_, not in the lanes
    sha_avx512::States states_;
    std::array<Lane, sha_avx512::kLanes> lanes_;
};

}  // namespace blockpub
