// SPDX-License-Identifier: MIT
#include "primitives/signature_encoding.hpp"

#include <cstddef>

namespace blockpub {
namespace {

constexpr std::size_t kMinSize = 9;
constexpr std::size_t kMaxSize = 73;
constexpr std::uint8_t kSequenceTag = 0x30;
constexpr std::uint8_t kIntegerTag = 0x02;

/// A positive DER integer in its shortest form.
bool is_strict_integer(ByteSpan number) {
    if (number.empty() || (number[0] & 0x80) != 0) return false;
    return number.size() == 1 || number[0] != 0 || (number[1] & 0x80) != 0;
}

/// Layout: 30 length 02 length r 02 length s hash-type.
bool is_strict_der(ByteSpan bytes) {
    const std::size_t size = bytes.size();
    if (size < kMinSize || size > kMaxSize) return false;
    if (bytes[0] != kSequenceTag || bytes[1] != size - 3) return false;
    const std::size_t r_size = bytes[3];
    if (5 + r_size >= size) return false;
    const std::size_t s_size = bytes[5 + r_size];
    if (r_size + s_size + 7 != size) return false;
    return bytes[2] == kIntegerTag && bytes[4 + r_size] == kIntegerTag &&
           is_strict_integer(bytes.subspan(4, r_size)) &&
           is_strict_integer(bytes.subspan(6 + r_size, s_size));
}

}  // namespace

std::string_view signature_hash_name(ByteSpan bytes) {
    if (!is_strict_der(bytes)) return {};
    switch (bytes.back()) {
        case 0x01:
            return "ALL";
        case 0x02:
            return "NONE";
        case 0x03:
            return "SINGLE";
        case 0x81:
            return "ALL|ANYONECANPAY";
        case 0x82:
            return "NONE|ANYONECANPAY";
        case 0x83:
            return "SINGLE|ANYONECANPAY";
        default:
            return {};
    }
}

}  // namespace blockpub
