// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>

namespace blockpub {

static_assert(std::endian::native == std::endian::little, "the wire and disk formats are read in place");

/// Little-endian integer at `p`, which need not be aligned.
template <std::integral T>
[[nodiscard]] inline T read_le(const std::uint8_t* p) noexcept {
    T value;
    std::memcpy(&value, p, sizeof value);
    return value;
}

template <std::integral T>
inline void write_le(std::uint8_t* p, T value) noexcept {
    std::memcpy(p, &value, sizeof value);
}

/// Big-endian: keys whose byte order is their numeric order.
template <std::unsigned_integral T>
[[nodiscard]] inline T read_be(const std::uint8_t* p) noexcept {
    return std::byteswap(read_le<T>(p));
}

template <std::unsigned_integral T>
inline void write_be(std::uint8_t* p, T value) noexcept {
    write_le(p, std::byteswap(value));
}

}  // namespace blockpub
