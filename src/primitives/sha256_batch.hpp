// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/sha256.hpp"
#include "primitives/sha256_ni.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace blockpub {

/// sha256d of many messages, two at a time where the processor has instructions for it: the transactions of a
/// block, the nodes of a merkle tree.
///
/// Thread safety: one thread at a time.
/// Ownership: copies a message when it is added; borrows where its digest goes.
class Sha256dBatch {
 public:
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
        std::array<std::uint8_t, kLongest + kPadding + sha_ni::kBlock> message;  // padded
        sha_ni::State state;
        const std::uint8_t* at = nullptr;
        std::size_t blocks_left = 0;
        bool second = false;          // of the two hashes
        Digest256* digest = nullptr;  // null: the lane is free
    };

    static void load(Lane& lane, std::span<const ByteSpan> parts);
    /// Goes on to the second hash, or ends the message.
    static void end_hash(Lane& lane);
    void step();

    std::array<Lane, 2> lanes_;
};

}  // namespace blockpub
