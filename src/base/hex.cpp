// SPDX-License-Identifier: MIT
#include "base/hex.hpp"

#include <array>
#include <cstring>

namespace blockpub {
namespace {

// Blocks of a megabyte are encoded for every `.hex` request and decoded for every submitblock: sixteen digits
// go at a time, in the vector types that both compilers have on every machine.
using Bytes16 [[gnu::vector_size(16)]] = std::uint8_t;

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
    for (std::uint8_t i = 0; i < 10; ++i) table[std::size_t{'0'} + i] = i;
    for (std::uint8_t i = 10; i < 16; ++i) {
        table[std::size_t{'a'} + i - 10] = i;
        table[std::size_t{'A'} + i - 10] = i;
    }
    return table;
}();

// Digits of sixteen numbers below 16.
Bytes16 to_digits(Bytes16 numbers) {
    return numbers + '0' +
           (reinterpret_cast<Bytes16>(numbers > 9) & static_cast<std::uint8_t>('a' - '0' - 10));
}

void encode16(const std::uint8_t* bytes, char* out) {
    Bytes16 in;
    std::memcpy(&in, bytes, sizeof in);
    const Bytes16 high = to_digits(in >> 4);
    const Bytes16 low = to_digits(in & 15);
    const Bytes16 first =
        __builtin_shufflevector(high, low, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const Bytes16 second =
        __builtin_shufflevector(high, low, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    std::memcpy(out, &first, sizeof first);
    std::memcpy(out + sizeof first, &second, sizeof second);
}

// Numbers of sixteen digits. `wrong` gets a bit set wherever there is another character.
Bytes16 from_digits(const char* digits, Bytes16& wrong) {
    Bytes16 in;
    std::memcpy(&in, digits, sizeof in);
    const Bytes16 number = in - '0';
    const Bytes16 letter = (in | 0x20) - 'a';
    const auto is_number = reinterpret_cast<Bytes16>(number <= 9);
    const auto is_letter = reinterpret_cast<Bytes16>(letter <= 5);
    wrong |= ~(is_number | is_letter);
    return (number & is_number) | ((letter + 10) & is_letter);
}

void decode16(const char* digits, std::uint8_t* out, Bytes16& wrong) {
    const Bytes16 first = from_digits(digits, wrong);
    const Bytes16 second = from_digits(digits + 16, wrong);
    const Bytes16 high =
        __builtin_shufflevector(first, second, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const Bytes16 low =
        __builtin_shufflevector(first, second, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    const Bytes16 bytes = high << 4 | low;
    std::memcpy(out, &bytes, sizeof bytes);
}

bool any_set(Bytes16 bytes) {
    std::array<std::uint64_t, 2> halves;
    std::memcpy(halves.data(), &bytes, sizeof bytes);
    return (halves[0] | halves[1]) != 0;
}

}  // namespace

void encode_hex_to(ByteSpan bytes, char* out) noexcept {
    std::size_t i = 0;
    for (; i + 16 <= bytes.size(); i += 16) encode16(bytes.data() + i, out + 2 * i);
    for (; i < bytes.size(); ++i) std::memcpy(out + 2 * i, kEncode[bytes[i]].data(), 2);
}

std::string encode_hex(ByteSpan bytes) {
    std::string out(bytes.size() * 2, '\0');
    encode_hex_to(bytes, out.data());
    return out;
}

bool is_hex(std::string_view hex) noexcept {
    if (hex.empty() || hex.size() % 2 != 0) return false;
    Bytes16 wrong{};
    std::size_t i = 0;
    for (; i + 16 <= hex.size(); i += 16) static_cast<void>(from_digits(hex.data() + i, wrong));
    if (any_set(wrong)) return false;
    for (; i < hex.size(); ++i) {
        if (kDecode[static_cast<std::uint8_t>(hex[i])] == kBad) return false;
    }
    return true;
}

bool decode_hex_to(std::string_view hex, std::span<std::uint8_t> out) noexcept {
    if (hex.size() != out.size() * 2) return false;
    Bytes16 wrong_block{};
    std::size_t i = 0;
    for (; i + 16 <= out.size(); i += 16) decode16(hex.data() + 2 * i, out.data() + i, wrong_block);
    std::uint8_t wrong = 0;
    for (; i < out.size(); ++i) {
        const std::uint8_t high = kDecode[static_cast<std::uint8_t>(hex[2 * i])];
        const std::uint8_t low = kDecode[static_cast<std::uint8_t>(hex[2 * i + 1])];
        wrong |= static_cast<std::uint8_t>((high | low) & 0xf0);
        out[i] = static_cast<std::uint8_t>(high << 4 | low);
    }
    return wrong == 0 && !any_set(wrong_block);
}

std::optional<std::vector<std::uint8_t>> decode_hex(std::string_view hex) {
    if (hex.size() % 2 != 0) return std::nullopt;
    std::vector<std::uint8_t> out(hex.size() / 2);
    if (!decode_hex_to(hex, out)) return std::nullopt;
    return out;
}

}  // namespace blockpub
