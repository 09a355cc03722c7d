// SPDX-License-Identifier: MIT
#pragma once

#include "base/endian.hpp"

#include <blockpub/bytes.hpp>

#include <cstdint>
#include <optional>

namespace blockpub {

/// Largest size or count that Core's serialization takes (MAX_SIZE).
inline constexpr std::uint64_t kMaxSerializedSize = 0x02000000;

/// Walks over borrowed bytes; a read beyond the end fails and sticks, so a decoder checks once at its end or
/// wherever it must not go on.
/// Thread safety: distinct objects safe.
class ByteReader {
 public:
    explicit ByteReader(ByteSpan bytes) : bytes_(bytes) {}

    [[nodiscard]] bool ok() const noexcept { return ok_; }
    [[nodiscard]] std::size_t position() const noexcept { return position_; }
    [[nodiscard]] std::size_t remaining() const noexcept { return bytes_.size() - position_; }
    void fail() noexcept { ok_ = false; }
    /// The bytes from here to the end, without moving.
    [[nodiscard]] ByteSpan rest() const noexcept { return bytes_.subspan(position_); }

    /// `size` bytes, or an empty span after a failure.
    [[nodiscard]] ByteSpan take(std::uint64_t size) noexcept {
        if (!ok_ || size > remaining()) {
            ok_ = false;
            return {};
        }
        const ByteSpan out = bytes_.subspan(position_, static_cast<std::size_t>(size));
        position_ += static_cast<std::size_t>(size);
        return out;
    }
    void skip(std::uint64_t size) noexcept { static_cast<void>(take(size)); }
    /// 0 after a failure.
    template <std::integral T>
    [[nodiscard]] T le() noexcept {
        const ByteSpan bytes = take(sizeof(T));
        return bytes.empty() ? T{} : read_le<T>(bytes.data());
    }
    /// A compact size in its shortest form and at most kMaxSerializedSize; anything else fails. 0 after a
    /// failure. Source: Bitcoin Core src/serialize.h, ReadCompactSize.
    [[nodiscard]] std::uint64_t compact_size() noexcept {
        const auto first = le<std::uint8_t>();
        std::uint64_t value = first;
        std::uint64_t least = 0;
        if (first == 253) {
            value = le<std::uint16_t>();
            least = 253;
        } else if (first == 254) {
            value = le<std::uint32_t>();
            least = 0x10000;
        } else if (first == 255) {
            value = le<std::uint64_t>();
            least = 0x100000000;
        }
        if (value < least || value > kMaxSerializedSize) ok_ = false;
        return ok_ ? value : 0;
    }

 private:
    ByteSpan bytes_;
    std::size_t position_ = 0;
    bool ok_ = true;
};

}  // namespace blockpub
