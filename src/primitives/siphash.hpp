// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/bytes.hpp>

#include <cstdint>

namespace blockpub {

/// The 128 bits that make one SipHash different from another.
struct SipHashKey {
    std::uint64_t k0 = 0;
    std::uint64_t k1 = 0;
};

/// SipHash-2-4 of some bytes: short, and not to be foreseen by who does not know the key.
/// Thread safety: from any thread.
/// Source: Aumasson and Bernstein, SipHash: a fast short-input PRF; BIP 152 uses it for short ids.
[[nodiscard]] std::uint64_t siphash(const SipHashKey& key, ByteSpan bytes);

}  // namespace blockpub
