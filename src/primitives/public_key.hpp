// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/bytes.hpp>

namespace blockpub {

inline constexpr std::size_t kCompressedKeySize = 33;
inline constexpr std::size_t kUncompressedKeySize = 65;
inline constexpr std::size_t kXOnlyKeySize = 32;

/// Whether the bytes have the first byte and the size of a public key in hybrid form (uncompressed, and its
/// y's parity once more).
[[nodiscard]] bool is_hybrid_public_key(ByteSpan key);

/// Whether the bytes have the size of a public key that begins as they do; the hybrid form counts.
[[nodiscard]] bool has_public_key_size(ByteSpan key);

/// Whether the bytes are a point of secp256k1, compressed or not. The hybrid form is refused.
[[nodiscard]] bool is_valid_public_key(ByteSpan key);

/// Whether 32 bytes are the x of a point of secp256k1 (BIP 340).
[[nodiscard]] bool is_valid_x_only_key(ByteSpan key);

}  // namespace blockpub
