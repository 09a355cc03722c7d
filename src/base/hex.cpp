// SPDX-License-Identifier: MIT
#include "base/hex.hpp"

#include <array>

namespace blockpub {
namespace {

constexpr auto kEncode = [] {
    std::array<std::array<char, 2>, 256> table{};
    constexpr char kDigits[] = "0123456789abcdef";
    for (std::size_t i = 0; i < 256; ++i) table[i] = {kDigits[i >> 4], kDigits[i & 15]};
    return table;
}();

constexpr std::uint8_t kBad = 0xff;

constexpr auto kDecode = [] {
    std::array<std::uint8_t, 256> table{};
    table.fill(kBad);
    for (int i = 0; i < 10; ++i) table[static_cast<std::size_t>('0' + i)] = static_cast<std::uint8_t>(i);
    for (int i = 0; i < 6; ++i) {
        table[static_cast<std::size_t>('a' + i)] = static_cast<std::uint8_t>(10 + i);
        table[static_cast<std::size_t>('A' + i)] = static_cast<std::uint8_t>(10 + i);
    }
    return table;
}();

}  // namespace

void encode_hex_to(ByteSpan bytes, char* out) noexcept {
    for (const std::uint8_t byte : bytes) {
        std::memcpy(out, kEncode[byte].data(), 2);
        out += 2;
    }
}

std::string encode_hex(ByteSpan bytes) {
    std::string out(bytes.size() * 2, '\0');
    encode_hex_to(bytes, out.data());
    return out;
}

bool is_hex(std::string_view hex) noexcept {
    if (hex.empty() || hex.size() % 2 != 0) return false;
    for (const char c : hex) {
        if (kDecode[static_cast<std::uint8_t>(c)] == kBad) return false;
    }
    return true;
}

bool decode_hex_to(std::string_view hex, std::span<std::uint8_t> out) noexcept {
    if (hex.size() != out.size() * 2) return false;
    std::uint8_t wrong = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
        const std::uint8_t high = kDecode[static_cast<std::uint8_t>(hex[2 * i])];
        const std::uint8_t low = kDecode[static_cast<std::uint8_t>(hex[2 * i + 1])];
        wrong |= static_cast<std::uint8_t>((high | low) & 0xf0);
        out[i] = static_cast<std::uint8_t>(high << 4 | low);
    }
    return wrong == 0;
}

std::optional<std::vector<std::uint8_t>> decode_hex(std::string_view hex) {
    if (hex.size() % 2 != 0) return std::nullopt;
    std::vector<std::uint8_t> out(hex.size() / 2);
    if (!decode_hex_to(hex, out)) return std::nullopt;
    return out;
}

}  // namespace blockpub
