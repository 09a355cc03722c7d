// SPDX-License-Identifier: MIT
#include "primitives/header.hpp"

#include "base/check.hpp"
#include "base/endian.hpp"
#include "primitives/sha256.hpp"

#include <algorithm>

namespace blockpub {
namespace {

// Offsets within the 80 bytes.
constexpr std::size_t kPrevious = 4;
constexpr std::size_t kMerkleRoot = 36;
constexpr std::size_t kTime = 68;
constexpr std::size_t kBits = 72;
constexpr std::size_t kNonce = 76;

}  // namespace

BlockHeader BlockHeader::decode(ByteSpan bytes) {
    BLOCKPUB_CHECK(bytes.size() >= kSize, "{} bytes", bytes.size());
    BlockHeader header;
    header.version = read_le<std::int32_t>(bytes.data());
    header.previous = BlockHash::from_wire(bytes.subspan(kPrevious, 32));
    header.merkle_root = MerkleRoot::from_wire(bytes.subspan(kMerkleRoot, 32));
    header.time = read_le<std::uint32_t>(bytes.data() + kTime);
    header.bits = read_le<std::uint32_t>(bytes.data() + kBits);
    header.nonce = read_le<std::uint32_t>(bytes.data() + kNonce);
    return header;
}

std::array<std::uint8_t, BlockHeader::kSize> BlockHeader::encode() const {
    std::array<std::uint8_t, kSize> out;
    write_le(out.data(), version);
    std::ranges::copy(previous.wire_bytes(), out.data() + kPrevious);
    std::ranges::copy(merkle_root.wire_bytes(), out.data() + kMerkleRoot);
    write_le(out.data() + kTime, time);
    write_le(out.data() + kBits, bits);
    write_le(out.data() + kNonce, nonce);
    return out;
}

BlockHash BlockHeader::hash() const {
    return hash_header(encode());
}

BlockHash hash_header(ByteSpan bytes) {
    BLOCKPUB_CHECK(bytes.size() >= BlockHeader::kSize, "{} bytes", bytes.size());
    return BlockHash(sha256d(bytes.first(BlockHeader::kSize)));
}

}  // namespace blockpub
