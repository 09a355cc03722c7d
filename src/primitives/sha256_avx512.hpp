// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/sha256_ni.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

// SHA-256's compression of sixteen messages at once: one word of each lies in one register.
// Source: FIPS 180-4; Intel SDM volume 2, AVX-512 Foundation and Byte and Word instructions.

namespace blockpub::sha_avx512 {

inline constexpr std::size_t kLanes = 16;

/// The states of all lanes: word by word, of each word lane by lane.
struct alignas(64) States {
    std::array<std::array<std::uint32_t, kLanes>, 8> words;

    [[nodiscard]] sha_ni::State of(std::size_t lane) const noexcept {
        sha_ni::State state;
        for (std::size_t i = 0; i < state.size(); ++i) state[i] = words[i][lane];
        return state;
    }
    void set(std::size_t lane, const sha_ni::State& state) noexcept {
        for (std::size_t i = 0; i < state.size(); ++i) words[i][lane] = state[i];
    }
};

/// Whether this processor and system have the instructions; `compress` may not be called when not.
[[nodiscard]] bool available() noexcept;

/// Takes `count` blocks of each lane into its state. A lane that has nothing to do may name another's blocks.
void compress(States& states, const std::array<const std::uint8_t*, kLanes>& blocks,
              std::size_t count) noexcept;

}  // namespace blockpub::sha_avx512
