// SPDX-License-Identifier: MIT
#include "primitives/work.hpp"

#include "base/check.hpp"
#include "base/endian.hpp"
#include "base/hex.hpp"

#include <bit>
#include <cmath>

namespace blockpub {
namespace {

__extension__ using WideLimb = unsigned __int128;

constexpr unsigned kLimbBits = 64;

// A compact target is mantissa * 256^(exponent - 3), its mantissa's highest bit a sign.
struct Compact {
    Uint256 value;
    bool negative = false;
    bool overflow = false;
};

Compact expand(std::uint32_t bits) {
    const unsigned exponent = bits >> 24;
    std::uint32_t mantissa = bits & 0x007fffff;
    Compact out;
    if (exponent <= 3) {
        mantissa >>= 8 * (3 - exponent);
        out.value = Uint256(mantissa);
    } else {
        out.value = Uint256(mantissa) << 8 * (exponent - 3);
    }
    out.negative = mantissa != 0 && (bits & 0x00800000) != 0;
    out.overflow = mantissa != 0 && (exponent > 34 || (mantissa > 0xff && exponent > 33) ||
                                     (mantissa > 0xffff && exponent > 32));
    return out;
}

}  // namespace

Uint256 Uint256::from_big_endian(const std::array<std::uint8_t, 32>& bytes) {
    Uint256 out;
    for (std::size_t i = 0; i < 4; ++i) out.limbs_[3 - i] = read_be<std::uint64_t>(bytes.data() + 8 * i);
    return out;
}

std::array<std::uint8_t, 32> Uint256::big_endian() const {
    std::array<std::uint8_t, 32> out;
    for (std::size_t i = 0; i < 4; ++i) write_be(out.data() + 8 * i, limbs_[3 - i]);
    return out;
}

Uint256 Uint256::from_hash(const BlockHash& hash) {
    Uint256 out;
    for (std::size_t i = 0; i < 4; ++i)
        out.limbs_[i] = read_le<std::uint64_t>(hash.wire_bytes().data() + 8 * i);
    return out;
}

Uint256 Uint256::from_hex(std::string_view hex) {
    BLOCKPUB_CHECK(hex.size() <= 64, "{} digits", hex.size());
    std::string padded(64 - hex.size(), '0');
    padded += hex;
    std::array<std::uint8_t, 32> bytes;
    const bool digits = decode_hex_to(padded, bytes);
    BLOCKPUB_CHECK(digits, "in {}", hex);
    return from_big_endian(bytes);
}

std::string Uint256::hex() const {
    return encode_hex(big_endian());
}

bool Uint256::is_zero() const {
    return *this == Uint256();
}

unsigned Uint256::bits() const {
    for (unsigned i = 4; i-- > 0;) {
        if (limbs_[i] != 0) return kLimbBits * i + static_cast<unsigned>(std::bit_width(limbs_[i]));
    }
    return 0;
}

double Uint256::to_double() const {
    // By halves of limbs and from the least significant on: other orders round otherwise than Core's.
    double out = 0;
    double weight = 1;
    for (const std::uint64_t limb : limbs_) {
        for (const std::uint64_t half : {limb & 0xffffffff, limb >> 32}) {
            out += weight * static_cast<double>(half);
            weight *= 0x1p32;
        }
    }
    return out;
}

std::strong_ordering operator<=>(const Uint256& a, const Uint256& b) {
    for (std::size_t i = 4; i-- > 0;) {
        if (a.limbs_[i] != b.limbs_[i]) return a.limbs_[i] <=> b.limbs_[i];
    }
    return std::strong_ordering::equal;
}

Uint256 operator+(const Uint256& a, const Uint256& b) {
    Uint256 out;
    WideLimb carry = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        carry += static_cast<WideLimb>(a.limbs_[i]) + b.limbs_[i];
        out.limbs_[i] = static_cast<std::uint64_t>(carry);
        carry >>= kLimbBits;
    }
    return out;
}

Uint256 operator-(const Uint256& a, const Uint256& b) {
    return a + ~b + Uint256(1);
}

Uint256 operator*(const Uint256& a, std::uint32_t b) {
    Uint256 out;
    WideLimb carry = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        carry += static_cast<WideLimb>(a.limbs_[i]) * b;
        out.limbs_[i] = static_cast<std::uint64_t>(carry);
        carry >>= kLimbBits;
    }
    return out;
}

Uint256 operator/(const Uint256& a, const Uint256& b) {
    BLOCKPUB_CHECK(!b.is_zero());
    if (b > a) return {};
    // Long division in binary: a header's work takes at most some 256 turns of it.
    unsigned shift = a.bits() - b.bits();
    Uint256 rest = a;
    Uint256 part = b << shift;
    Uint256 quotient;
    for (;; --shift) {
        if (part <= rest) {
            rest = rest - part;
            quotient.limbs_[shift / kLimbBits] |= std::uint64_t{1} << shift % kLimbBits;
        }
        if (shift == 0) return quotient;
        part = part >> 1;
    }
}

Uint256 operator<<(const Uint256& a, unsigned shift) {
    Uint256 out;
    const std::size_t limbs = shift / kLimbBits;
    const unsigned rest = shift % kLimbBits;
    for (std::size_t i = limbs; i < 4; ++i) {
        out.limbs_[i] = a.limbs_[i - limbs] << rest;
        if (rest != 0 && i > limbs) out.limbs_[i] |= a.limbs_[i - limbs - 1] >> (kLimbBits - rest);
    }
    return out;
}

Uint256 operator>>(const Uint256& a, unsigned shift) {
    Uint256 out;
    const std::size_t limbs = shift / kLimbBits;
    const unsigned rest = shift % kLimbBits;
    for (std::size_t i = 0; i + limbs < 4; ++i) {
        out.limbs_[i] = a.limbs_[i + limbs] >> rest;
        if (rest != 0 && i + limbs + 1 < 4) out.limbs_[i] |= a.limbs_[i + limbs + 1] << (kLimbBits - rest);
    }
    return out;
}

Uint256 operator~(const Uint256& a) {
    Uint256 out;
    for (std::size_t i = 0; i < 4; ++i) out.limbs_[i] = ~a.limbs_[i];
    return out;
}

std::optional<Uint256> decode_compact(std::uint32_t bits) {
    const Compact compact = expand(bits);
    if (compact.negative || compact.overflow) return std::nullopt;
    return compact.value;
}

std::uint32_t encode_compact(const Uint256& target) {
    unsigned size = (target.bits() + 7) / 8;
    std::uint32_t mantissa = size <= 3 ? static_cast<std::uint32_t>(target.low64() << 8 * (3 - size))
                                       : static_cast<std::uint32_t>((target >> 8 * (size - 3)).low64());
    // The mantissa's highest bit means a sign: it moves a byte down where it is set.
    if ((mantissa & 0x00800000) != 0) {
        mantissa >>= 8;
        ++size;
    }
    return mantissa | size << 24;
}

Uint256 block_work(std::uint32_t bits) {
    const auto target = decode_compact(bits);
    if (!target || target->is_zero()) return {};
    // 2^256 / (target + 1) where 2^256 does not fit: (2^256 - target - 1) / (target + 1) + 1.
    return ~*target / (*target + Uint256(1)) + Uint256(1);
}

bool meets_proof_of_work(const BlockHash& hash, std::uint32_t bits, const Uint256& limit) {
    const auto target = decode_compact(bits);
    return target && !target->is_zero() && *target <= limit && Uint256::from_hash(hash) <= *target;
}

double difficulty(std::uint32_t bits) {
    // Division and single steps of 256, in this order: other orders round otherwise.
    unsigned shift = bits >> 24;
    double out = static_cast<double>(0x0000ffff) / static_cast<double>(bits & 0x00ffffff);
    for (; shift < 29; ++shift) out *= 256.0;
    for (; shift > 29; --shift) out /= 256.0;
    return out;
}

}  // namespace blockpub
