// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/bytes.hpp>
#include <blockpub/hash.hpp>

#include <array>
#include <cstdint>
#include <span>

namespace blockpub {

using Digest256 = std::array<std::uint8_t, 32>;

[[nodiscard]] Digest256 sha256(ByteSpan bytes);
/// SHA-256 of SHA-256, the hash of headers and transactions.
[[nodiscard]] Digest256 sha256d(ByteSpan bytes);
/// sha256d of several spans one after the other, without joining them.
[[nodiscard]] Digest256 sha256d(std::span<const ByteSpan> parts);
/// sha256d of two digests: one step of a merkle tree.
[[nodiscard]] Digest256 sha256d_pair(const Digest256& left, const Digest256& right);
/// RIPEMD-160 of SHA-256.
[[nodiscard]] std::array<std::uint8_t, 20> hash160(ByteSpan bytes);

}  // namespace blockpub
