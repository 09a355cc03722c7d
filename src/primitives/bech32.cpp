// SPDX-License-Identifier: MIT
#include "primitives/bech32.hpp"

#include "base/ascii.hpp"

#include <algorithm>
#include <array>

namespace blockpub {
namespace {

constexpr std::string_view kCharacters = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";

bool has_allowed_characters(std::string_view text) {
    if (std::ranges::any_of(text, [](char c) { return c < 33 || c > 126; })) return false;
    return !(std::ranges::any_of(text, is_upper) && std::ranges::any_of(text, is_lower));
}

std::unexpected<Error> wrong(const char* sentence) {
    return fail(Errc::invalid_argument, sentence);
}

}  // namespace

std::optional<std::uint8_t> bech32_value(char c) {
    const std::size_t value = kCharacters.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    return static_cast<std::uint8_t>(value);
}

char* encode_bech32_to(Bech32Kind kind, std::string_view prefix, ByteSpan values, char* out) {
    Bech32Remainder checksum;
    checksum.add_prefix(prefix);
    out = std::ranges::copy(prefix, out).out;
    *out++ = '1';
    for (const std::uint8_t value : values) {
        checksum.add(value);
        *out++ = kCharacters[value];
    }
    for (std::size_t i = 0; i < kBech32ChecksumLength; ++i) checksum.add(0);
    const std::uint32_t state = checksum.state() ^ bech32_constant(kind);
    for (std::size_t i = 0; i < kBech32ChecksumLength; ++i) {
        *out++ = kCharacters[state >> 5 * (kBech32ChecksumLength - 1 - i) & 31];
    }
    return out;
}

std::string encode_bech32(Bech32Kind kind, std::string_view prefix, ByteSpan values) {
    std::string out(prefix.size() + 1 + values.size() + kBech32ChecksumLength, '\0');
    static_cast<void>(encode_bech32_to(kind, prefix, values, out.data()));
    return out;
}

Result<Bech32Text> decode_bech32(std::string_view text) {
    if (text.size() > kMaxBech32Length) return wrong("Bech32 string too long");
    if (!has_allowed_characters(text)) return wrong("Invalid character or mixed case");
    const std::size_t separator = text.rfind('1');
    if (separator == std::string_view::npos) return wrong("Missing separator");
    if (separator == 0 || separator + kBech32ChecksumLength >= text.size())
        return wrong("Invalid separator position");
    Bech32Text out;
    for (const char c : text.substr(0, separator)) out.prefix.push_back(to_lower(c));
    Bech32Remainder checksum;
    checksum.add_prefix(out.prefix);
    for (const char c : text.substr(separator + 1)) {
        const auto value = bech32_value(to_lower(c));
        if (!value) return wrong("Invalid Base 32 character");
        checksum.add(*value);
        out.values.push_back(*value);
    }
    const bool is_bech32 = checksum.state() == bech32_constant(Bech32Kind::bech32);
    if (!is_bech32 && checksum.state() != bech32_constant(Bech32Kind::bech32m)) {
        return wrong(out.values.front() == 0 ? "Invalid Bech32 checksum" : "Invalid Bech32m checksum");
    }
    out.kind = is_bech32 ? Bech32Kind::bech32 : Bech32Kind::bech32m;
    out.values.resize(out.values.size() - kBech32ChecksumLength);
    return out;
}

std::size_t bytes_to_five_bits_to(ByteSpan bytes, std::uint8_t* out) {
    const std::uint8_t* const begin = out;
    std::uint32_t rest = 0;
    unsigned bits = 0;
    for (const std::uint8_t byte : bytes) {
        rest = rest << 8 | byte;
        for (bits += 8; bits >= 5;) {
            bits -= 5;
            *out++ = rest >> bits & 31;
        }
        rest &= (1u << bits) - 1;
    }
    if (bits != 0) *out++ = rest << (5 - bits) & 31;
    return static_cast<std::size_t>(out - begin);
}

std::vector<std::uint8_t> bytes_to_five_bits(ByteSpan bytes) {
    std::vector<std::uint8_t> out((bytes.size() * 8 + 4) / 5);
    bytes_to_five_bits_to(bytes, out.data());
    return out;
}

std::optional<std::vector<std::uint8_t>> five_bits_to_bytes(ByteSpan values) {
    std::vector<std::uint8_t> out;
    std::uint32_t rest = 0;
    unsigned bits = 0;
    for (const std::uint8_t value : values) {
        rest = rest << 5 | value;
        bits += 5;
        if (bits >= 8) {
            bits -= 8;
            out.push_back(rest >> bits & 0xff);
        }
        rest &= (1u << bits) - 1;
    }
    if (bits >= 5 || rest != 0) return std::nullopt;
    return out;
}

}  // namespace blockpub
