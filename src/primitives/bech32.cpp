// SPDX-License-Identifier: MIT
#include "primitives/bech32.hpp"

#include <algorithm>
#include <array>

namespace blockpub {
namespace {

constexpr std::string_view kCharacters = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
constexpr std::size_t kMaxLength = 90;
constexpr std::size_t kChecksumLength = 6;
constexpr std::uint32_t kBech32Constant = 1;
constexpr std::uint32_t kBech32mConstant = 0x2bc830a3;

// The remainder of the BCH code's generator polynomial over GF(32), one value at a time.
class Checksum {
 public:
    void add(std::uint8_t value) {
        static constexpr std::array<std::uint32_t, 5> kGenerator{0x3b6a57b2, 0x26508e6d, 0x1ea119fa,
                                                                 0x3d4233dd, 0x2a1462b3};
        const std::uint32_t top = state_ >> 25;
        state_ = (state_ & 0x1ffffff) << 5 ^ value;
        for (std::size_t i = 0; i < kGenerator.size(); ++i) {
            if ((top >> i & 1) != 0) state_ ^= kGenerator[i];
        }
    }
    void add_prefix(std::string_view prefix) {
        for (const char c : prefix) add(static_cast<std::uint8_t>(c) >> 5);
        add(0);
        for (const char c : prefix) add(static_cast<std::uint8_t>(c) & 31);
    }
    [[nodiscard]] std::uint32_t state() const { return state_; }

 private:
    std::uint32_t state_ = 1;
};

std::uint32_t constant_of(Bech32Kind kind) {
    return kind == Bech32Kind::bech32 ? kBech32Constant : kBech32mConstant;
}

bool is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}
bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}
char to_lower(char c) {
    return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
}

bool has_allowed_characters(std::string_view text) {
    if (std::ranges::any_of(text, [](char c) { return c < 33 || c > 126; })) return false;
    return !(std::ranges::any_of(text, is_upper) && std::ranges::any_of(text, is_lower));
}

std::unexpected<Error> wrong(const char* sentence) {
    return fail(Errc::invalid_argument, sentence);
}

}  // namespace

std::string encode_bech32(Bech32Kind kind, std::string_view prefix, ByteSpan values) {
    Checksum checksum;
    checksum.add_prefix(prefix);
    std::string out(prefix);
    out.push_back('1');
    for (const std::uint8_t value : values) {
        checksum.add(value);
        out.push_back(kCharacters[value]);
    }
    for (std::size_t i = 0; i < kChecksumLength; ++i) checksum.add(0);
    const std::uint32_t state = checksum.state() ^ constant_of(kind);
    for (std::size_t i = 0; i < kChecksumLength; ++i) {
        out.push_back(kCharacters[state >> 5 * (kChecksumLength - 1 - i) & 31]);
    }
    return out;
}

Result<Bech32Text> decode_bech32(std::string_view text) {
    if (text.size() > kMaxLength) return wrong("Bech32 string too long");
    if (!has_allowed_characters(text)) return wrong("Invalid character or mixed case");
    const std::size_t separator = text.rfind('1');
    if (separator == std::string_view::npos) return wrong("Missing separator");
    if (separator == 0 || separator + kChecksumLength >= text.size())
        return wrong("Invalid separator position");
    Bech32Text out;
    for (const char c : text.substr(0, separator)) out.prefix.push_back(to_lower(c));
    Checksum checksum;
    checksum.add_prefix(out.prefix);
    for (const char c : text.substr(separator + 1)) {
        const std::size_t value = kCharacters.find(to_lower(c));
        if (value == std::string_view::npos) return wrong("Invalid Base 32 character");
        checksum.add(static_cast<std::uint8_t>(value));
        out.values.push_back(static_cast<std::uint8_t>(value));
    }
    if (checksum.state() != kBech32Constant && checksum.state() != kBech32mConstant) {
        return wrong(out.values.front() == 0 ? "Invalid Bech32 checksum" : "Invalid Bech32m checksum");
    }
    out.kind = checksum.state() == kBech32Constant ? Bech32Kind::bech32 : Bech32Kind::bech32m;
    out.values.resize(out.values.size() - kChecksumLength);
    return out;
}

std::vector<std::uint8_t> bytes_to_five_bits(ByteSpan bytes) {
    std::vector<std::uint8_t> out;
    std::uint32_t rest = 0;
    unsigned bits = 0;
    for (const std::uint8_t byte : bytes) {
        rest = rest << 8 | byte;
        for (bits += 8; bits >= 5;) {
            bits -= 5;
            out.push_back(rest >> bits & 31);
        }
        rest &= (1u << bits) - 1;
    }
    if (bits != 0) out.push_back(rest << (5 - bits) & 31);
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
