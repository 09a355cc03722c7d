// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

// SHA-256's compression with the processor's own instructions, where it has them.
// Source: FIPS 180-4; Intel SDM volume 2, SHA256RNDS2, SHA256MSG1, SHA256MSG2.

namespace blockpub::sha_ni {

using State = std::array<std::uint32_t, 8>;

inline constexpr std::size_t kBlock = 64;
inline constexpr State kInitial{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

/// Whether this processor has the instructions; nothing else here may be called when not.
[[nodiscard]] bool available() noexcept;

/// Takes `count` blocks into the state.
void compress(State& state, const std::uint8_t* blocks, std::size_t count) noexcept;
/// The same for two messages at once, in little more time than one takes: each instruction waits for the one
/// before it, and two messages wait side by side.
void compress_two(State& a, const std::uint8_t* a_blocks, State& b, const std::uint8_t* b_blocks,
                  std::size_t count) noexcept;

}  // namespace blockpub::sha_ni
