// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <blockpub/bytes.hpp>

namespace blockpub {

/// A 256-bit hash that cannot be mistaken for another kind of hash.
///
/// Units: stored in wire order (the digest's own byte order, as inside blocks). Display order, the one of RPC,
/// REST and the ZMQ hash frames, is the reverse. There is no `hex()`: say which order you mean.
/// Thread safety: a value.
template <class Tag>
class Hash256 {
   public:
    static constexpr std::size_t kSize = 32;

    constexpr Hash256() = default;
    constexpr explicit Hash256(const std::array<std::uint8_t, 32>& wire) : wire_(wire) {}

    /// Requires: wire.size() == 32.
    [[nodiscard]] static Hash256 from_wire(ByteSpan wire) {
        Hash256 hash;
        std::memcpy(hash.wire_.data(), wire.data(), kSize);
        return hash;
    }

    /// Takes exactly 64 hexadecimal digits in display order; nothing else.
    [[nodiscard]] static std::optional<Hash256> from_display_hex(std::string_view hex) {
        if (hex.size() != 2 * kSize) return std::nullopt;
        Hash256 hash;
        for (std::size_t i = 0; i < kSize; ++i) {
            const int high = digit(hex[2 * i]);
            const int low = digit(hex[2 * i + 1]);
            if (high < 0 || low < 0) return std::nullopt;
            hash.wire_[kSize - 1 - i] = static_cast<std::uint8_t>(high * 16 + low);
        }
        return hash;
    }

    [[nodiscard]] constexpr const std::array<std::uint8_t, 32>& wire_bytes() const& noexcept { return wire_; }
    [[nodiscard]] std::array<std::uint8_t, 32> display_bytes() const noexcept {
        std::array<std::uint8_t, 32> out;
        std::reverse_copy(wire_.begin(), wire_.end(), out.begin());
        return out;
    }
    [[nodiscard]] std::string display_hex() const {
        static constexpr char kDigits[] = "0123456789abcdef";
        std::string out(2 * kSize, '\0');
        for (std::size_t i = 0; i < kSize; ++i) {
            const std::uint8_t byte = wire_[kSize - 1 - i];
            out[2 * i] = kDigits[byte >> 4];
            out[2 * i + 1] = kDigits[byte & 15];
        }
        return out;
    }
    [[nodiscard]] constexpr bool is_null() const noexcept {
        return std::ranges::all_of(wire_, [](std::uint8_t b) { return b == 0; });
    }

    friend constexpr auto operator<=>(const Hash256&, const Hash256&) = default;

   private:
    static constexpr int digit(char c) noexcept {
        if (c >= '0' && c <= '9') return c - '0';
        if (c >= 'a' && c <= 'f') return c - 'a' + 10;
        if (c >= 'A' && c <= 'F') return c - 'A' + 10;
        return -1;
    }

    std::array<std::uint8_t, 32> wire_{};
};

/// Double SHA-256 of a block header.
using BlockHash = Hash256<struct BlockHashTag>;
/// Double SHA-256 of a transaction without its witness.
using Txid = Hash256<struct TxidTag>;
/// Double SHA-256 of a transaction with its witness (BIP 141).
using Wtxid = Hash256<struct WtxidTag>;

/// Distance from genesis in blocks; genesis is 0.
struct Height {
    std::uint32_t value = 0;
    friend constexpr auto operator<=>(Height, Height) = default;
    [[nodiscard]] constexpr Height next() const noexcept { return {value + 1}; }
    /// Requires: value > 0.
    [[nodiscard]] constexpr Height previous() const noexcept { return {value - 1}; }
};

/// Counts additions to and removals from the mempool, as in the `sequence` topic and getrawmempool.
struct MempoolSequence {
    std::uint64_t value = 0;
    friend constexpr auto operator<=>(MempoolSequence, MempoolSequence) = default;
};

}  // namespace blockpub

template <class Tag>
struct std::hash<blockpub::Hash256<Tag>> {
    /// The digest's first bytes in wire order: uniform already (a block hash has its zeros at the other end).
    std::size_t operator()(const blockpub::Hash256<Tag>& key) const noexcept {
        std::size_t value;
        std::memcpy(&value, key.wire_bytes().data(), sizeof value);
        return value;
    }
};
