// SPDX-License-Identifier: MIT
#include "primitives/base58.hpp"

#include "base/endian.hpp"
#include "primitives/sha256.hpp"

#include <algorithm>
#include <array>

namespace blockpub {
namespace {

constexpr std::string_view kDigits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
constexpr std::size_t kChecksumSize = 4;

// Writes a big-endian number of base `from` in base `to`; leading zeros are the caller's.
std::vector<std::uint8_t> convert_base(const std::vector<std::uint8_t>& digits, unsigned from, unsigned to) {
    std::vector<std::uint8_t> out;  // least significant first
    for (const std::uint8_t digit : digits) {
        unsigned carry = digit;
        for (std::uint8_t& place : out) {
            carry += place * from;
            place = static_cast<std::uint8_t>(carry % to);
            carry /= to;
        }
        for (; carry != 0; carry /= to) out.push_back(static_cast<std::uint8_t>(carry % to));
    }
    std::ranges::reverse(out);
    return out;
}

std::size_t leading_zeros(const std::vector<std::uint8_t>& digits) {
    return static_cast<std::size_t>(std::ranges::find_if(digits, [](std::uint8_t d) { return d != 0; }) -
                                    digits.begin());
}

}  // namespace

std::string encode_base58check(ByteSpan payload) {
    std::vector<std::uint8_t> bytes(payload.begin(), payload.end());
    const Digest256 checksum = sha256d(payload);
    bytes.insert(bytes.end(), checksum.begin(), checksum.begin() + kChecksumSize);
    std::string out(leading_zeros(bytes), kDigits.front());
    for (const std::uint8_t digit : convert_base(bytes, 256, 58)) out.push_back(kDigits[digit]);
    return out;
}

char* encode_base58check_to(std::uint8_t version, std::span<const std::uint8_t, 20> hash, char* out) {
    // The 25 bytes are a number of seven limbs, and five digits are taken from it at a time.
    constexpr std::size_t kSize = 1 + 20 + kChecksumSize;
    constexpr std::size_t kLimbs = 7;
    constexpr std::uint32_t kFiveDigits = 58u * 58 * 58 * 58 * 58;
    constexpr std::size_t kGroups = kMaxBase58Address / 5;
    std::array<std::uint8_t, kLimbs * 4> bytes{};
    std::uint8_t* const payload = bytes.data() + bytes.size() - kSize;
    payload[0] = version;
    std::ranges::copy(hash, payload + 1);
    const Digest256 checksum = sha256d(ByteSpan(payload, 1 + hash.size()));
    std::copy_n(checksum.begin(), kChecksumSize, payload + 1 + hash.size());

    std::array<std::uint32_t, kLimbs> limbs;  // most significant first
    for (std::size_t i = 0; i < kLimbs; ++i) limbs[i] = read_be<std::uint32_t>(bytes.data() + 4 * i);
    std::array<char, kMaxBase58Address> digits;
    const char* const end = digits.data() + digits.size();
    char* first = digits.data() + digits.size();
    for (std::size_t group = 0; group < kGroups; ++group) {
        std::uint64_t rest = 0;
        for (std::uint32_t& limb : limbs) {
            rest = rest << 32 | limb;
            limb = static_cast<std::uint32_t>(rest / kFiveDigits);
            rest %= kFiveDigits;
        }
        for (int i = 0; i < 5; ++i, rest /= 58) *--first = kDigits[rest % 58];
    }
    const char* digit = first;
    while (digit != end && *digit == kDigits.front()) ++digit;
    const std::uint8_t* zero = payload;
    for (; zero != payload + kSize && *zero == 0; ++zero) *out++ = kDigits.front();
    return std::copy(digit, end, out);
}

std::optional<std::vector<std::uint8_t>> decode_base58(std::string_view text, std::size_t max_size) {
    // Core takes blanks around the digits.
    constexpr std::string_view kBlanks = " \f\n\r\t\v";
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    text = text.substr(0, text.find_last_not_of(kBlanks) + 1);
    // A byte takes no more than 1.37 digits: longer text is refused unread.
    if (text.size() > 2 * max_size) return std::nullopt;
    std::vector<std::uint8_t> digits;
    for (const char c : text) {
        const std::size_t digit = kDigits.find(c);
        if (digit == std::string_view::npos) return std::nullopt;
        digits.push_back(static_cast<std::uint8_t>(digit));
    }
    std::vector<std::uint8_t> bytes(leading_zeros(digits), 0);
    const std::vector<std::uint8_t> number = convert_base(digits, 58, 256);
    bytes.insert(bytes.end(), number.begin(), number.end());
    if (bytes.size() > max_size) return std::nullopt;
    return bytes;
}

std::optional<std::vector<std::uint8_t>> decode_base58check(std::string_view text, std::size_t max_size) {
    auto bytes = decode_base58(text, max_size + kChecksumSize);
    if (!bytes || bytes->size() < kChecksumSize) return std::nullopt;
    const ByteSpan payload = ByteSpan(*bytes).first(bytes->size() - kChecksumSize);
    const Digest256 checksum = sha256d(payload);
    if (!std::ranges::equal(ByteSpan(*bytes).last(kChecksumSize), ByteSpan(checksum).first(kChecksumSize))) {
        return std::nullopt;
    }
    bytes->resize(payload.size());
    return bytes;
}

}  // namespace blockpub
