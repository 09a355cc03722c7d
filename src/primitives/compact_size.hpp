// SPDX-License-Identifier: MIT
#pragma once

#include "base/endian.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

// Compact sizes as they are written; ByteReader::compact_size reads them.

namespace blockpub {

/// Bytes that `value` takes as a compact size.
[[nodiscard]] constexpr std::size_t compact_size_length(std::uint64_t value) {
    if (value < 253) return 1;
    if (value <= 0xffff) return 3;
    return value <= 0xffffffff ? 5 : 9;
}

/// Appends `value` in its shortest form.
inline void append_compact_size(std::vector<std::uint8_t>& out, std::uint64_t value) {
    const std::size_t length = compact_size_length(value);
    if (length > 1) out.push_back(length == 3 ? 253 : length == 5 ? 254 : 255);
    std::array<std::uint8_t, sizeof value> bytes;
    write_le(bytes.data(), value);
    out.insert(out.end(), bytes.data(), bytes.data() + (length == 1 ? 1 : length - 1));
}

}  // namespace blockpub
