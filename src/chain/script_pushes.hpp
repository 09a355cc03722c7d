// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/bytes.hpp>

#include <cstdint>
#include <optional>
#include <vector>

// What can be told of a script without running it.

namespace blockpub {

/// What running a script of pushes leaves on top of the stack; nothing when it pushes nothing, does anything
/// else, or pushes more than 520 bytes at once.
[[nodiscard]] std::optional<std::vector<std::uint8_t>> top_of_pushes(ByteSpan script);
/// Whether every instruction is whole, known, and pushes no more than 520 bytes.
[[nodiscard]] bool has_valid_instructions(ByteSpan script);

}  // namespace blockpub
