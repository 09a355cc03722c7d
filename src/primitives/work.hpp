// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/hash.hpp>

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace blockpub {

/// An unsigned 256-bit number: a proof-of-work target or an amount of work.
/// Thread safety: a value.
class Uint256 {
 public:
    constexpr Uint256() = default;
    constexpr explicit Uint256(std::uint64_t low) : limbs_{low, 0, 0, 0} {}
    [[nodiscard]] static Uint256 from_big_endian(const std::array<std::uint8_t, 32>& bytes);
    [[nodiscard]] std::array<std::uint8_t, 32> big_endian() const;
    /// A hash read as a number, its last wire byte the most significant.
    [[nodiscard]] static Uint256 from_hash(const BlockHash& hash);
    /// Requires: 64 or fewer hexadecimal digits, most significant first.
    [[nodiscard]] static Uint256 from_hex(std::string_view hex);
    /// 64 digits, most significant first, as `chainwork` in RPC.
    [[nodiscard]] std::string hex() const;
    [[nodiscard]] bool is_zero() const;
    /// Position of the highest set bit plus one; 0 for zero.
    [[nodiscard]] unsigned bits() const;
    [[nodiscard]] double to_double() const;
    [[nodiscard]] std::uint64_t low64() const { return limbs_[0]; }

    friend std::strong_ordering operator<=>(const Uint256& a, const Uint256& b);
    friend bool operator==(const Uint256&, const Uint256&) = default;
    // All wrap around modulo 2^256. Requires for / : divisor not zero.
    friend Uint256 operator+(const Uint256& a, const Uint256& b);
    friend Uint256 operator-(const Uint256& a, const Uint256& b);
    friend Uint256 operator*(const Uint256& a, std::uint32_t b);
    friend Uint256 operator/(const Uint256& a, const Uint256& b);
    friend Uint256 operator<<(const Uint256& a, unsigned shift);
    friend Uint256 operator>>(const Uint256& a, unsigned shift);
    friend Uint256 operator~(const Uint256& a);

 private:
    std::array<std::uint64_t, 4> limbs_{};  // least significant first
};

/// Expands a header's `bits`. Nothing when negative or beyond 256 bits.
[[nodiscard]] std::optional<Uint256> decode_compact(std::uint32_t bits);
[[nodiscard]] std::uint32_t encode_compact(const Uint256& target);
/// Work that a block with these `bits` stands for: 2^256 / (target + 1). Zero for a senseless target.
[[nodiscard]] Uint256 block_work(std::uint32_t bits);
/// Whether `hash` meets `bits`, and `bits` is a target that the chain allows.
[[nodiscard]] bool meets_proof_of_work(const BlockHash& hash, std::uint32_t bits, const Uint256& limit);
/// Core's GetDifficulty, to the last bit of the double.
[[nodiscard]] double difficulty(std::uint32_t bits);

}  // namespace blockpub
