// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/bytes.hpp>
#include <blockpub/result.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

/// The two checksums: the older for witness version 0, the other for all later ones. Source: BIP 173, BIP
/// 350.
enum class Bech32Kind : std::uint8_t { bech32, bech32m };

inline constexpr std::size_t kMaxBech32Length = 90;  ///< of a text, in characters
inline constexpr std::size_t kBech32ChecksumLength = 6;

/// What the remainder of a good text is.
[[nodiscard]] constexpr std::uint32_t bech32_constant(Bech32Kind kind) {
    return kind == Bech32Kind::bech32 ? 1 : 0x2bc830a3;
}

/// The remainder of the BCH code's generator polynomial over GF(32), one value at a time. It is linear: the
/// remainder of a change, begun at zero, is what the change does to any text's remainder.
class Bech32Remainder {
 public:
    explicit Bech32Remainder(std::uint32_t state = 1) : state_(state) {}
    /// Requires: value below 32.
    void add(std::uint8_t value) { state_ = (state_ & 0x1ffffff) << 5 ^ value ^ kMultiples[state_ >> 25]; }
    void add_prefix(std::string_view prefix) {
        for (const char c : prefix) add(static_cast<std::uint8_t>(c) >> 5);
        add(0);
        for (const char c : prefix) add(static_cast<std::uint8_t>(c) & 31);
    }
    [[nodiscard]] std::uint32_t state() const { return state_; }

 private:
    // The generator times each value.
    static constexpr auto kMultiples = [] {
        constexpr std::array<std::uint32_t, 5> kGenerator{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd,
                                                          0x2a1462b3};
        std::array<std::uint32_t, 32> table{};
        for (std::size_t value = 0; value < table.size(); ++value) {
            for (std::size_t i = 0; i < kGenerator.size(); ++i) {
                if ((value >> i & 1) != 0) table[value] ^= kGenerator[i];
            }
        }
        return table;
    }();

    std::uint32_t state_;
};

/// The value of a character, in lower case; nothing for one that bech32 does not use.
[[nodiscard]] std::optional<std::uint8_t> bech32_value(char c);

struct Bech32Text {
    Bech32Kind kind = Bech32Kind::bech32;
    std::string prefix;                ///< in lower case
    std::vector<std::uint8_t> values;  ///< of five bits each, without the checksum
};

/// Requires: `prefix` in lower case, values below 32.
[[nodiscard]] std::string encode_bech32(Bech32Kind kind, std::string_view prefix, ByteSpan values);

/// The same without an allocation, to `out`; answers where it ends. Requires: room for prefix and values and
/// 7 more.
[[nodiscard]] char* encode_bech32_to(Bech32Kind kind, std::string_view prefix, ByteSpan values, char* out);

/// Errors: invalid_argument, in Core's words, for mixed case, a wrong character or checksum, or more than 90
/// characters.
[[nodiscard]] Result<Bech32Text> decode_bech32(std::string_view text);

/// Groups bytes into values of five bits, the last filled up with zeros.
[[nodiscard]] std::vector<std::uint8_t> bytes_to_five_bits(ByteSpan bytes);
/// The same without an allocation, to `out`; answers how many. Requires: room for (8 * bytes + 4) / 5.
std::size_t bytes_to_five_bits_to(ByteSpan bytes, std::uint8_t* out);
/// The reverse; nothing where more than four bits are left over, or one of them is set.
[[nodiscard]] std::optional<std::vector<std::uint8_t>> five_bits_to_bytes(ByteSpan values);

}  // namespace blockpub
