// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/bytes.hpp>
#include <blockpub/hash.hpp>

#include <array>
#include <cstdint>

namespace blockpub {

using MerkleRoot = Hash256<struct MerkleRootTag>;

/// The 80 bytes at the head of a block, decoded.
/// Units: time in seconds since 1970.
struct BlockHeader {
    static constexpr std::size_t kSize = 80;

    std::int32_t version = 0;
    BlockHash previous;
    MerkleRoot merkle_root;
    std::uint32_t time = 0;
    std::uint32_t bits = 0;
    std::uint32_t nonce = 0;

    /// Requires: bytes.size() >= kSize.
    [[nodiscard]] static BlockHeader decode(ByteSpan bytes);
    [[nodiscard]] std::array<std::uint8_t, kSize> encode() const;
    [[nodiscard]] BlockHash hash() const;
    friend bool operator==(const BlockHeader&, const BlockHeader&) = default;
};

/// Hash of an encoded header. Requires: bytes.size() >= BlockHeader::kSize.
[[nodiscard]] BlockHash hash_header(ByteSpan bytes);

}  // namespace blockpub
