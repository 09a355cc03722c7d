// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <blockpub/bytes.hpp>

namespace blockpub {

/// Lower-case hexadecimal digits of `bytes`, in their order.
[[nodiscard]] std::string encode_hex(ByteSpan bytes);

/// Writes 2 * bytes.size() digits to `out`. Requires: room for them.
void encode_hex_to(ByteSpan bytes, char* out) noexcept;

/// Whether `hex` is an even number of hexadecimal digits, and not empty. As Core's IsHex.
[[nodiscard]] bool is_hex(std::string_view hex) noexcept;

/// Bytes of an even number of digits of either case; nothing for anything else. Empty is empty.
[[nodiscard]] std::optional<std::vector<std::uint8_t>> decode_hex(std::string_view hex);

/// Decodes into `out`, which has hex.size() / 2 bytes. Result: false (and unspecified bytes) for a wrong digit.
[[nodiscard]] bool decode_hex_to(std::string_view hex, std::span<std::uint8_t> out) noexcept;

}  // namespace blockpub
