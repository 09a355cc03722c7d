// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/bytes.hpp>
#include <blockpub/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

/// The two checksums: the older for witness version 0, the other for all later ones. Source: BIP 173, BIP
/// 350.
enum class Bech32Kind : std::uint8_t { bech32, bech32m };

struct Bech32Text {
    Bech32Kind kind = Bech32Kind::bech32;
    std::string prefix;                ///< in lower case
    std::vector<std::uint8_t> values;  ///< of five bits each, without the checksum
};

/// Requires: `prefix` in lower case, values below 32.
[[nodiscard]] std::string encode_bech32(Bech32Kind kind, std::string_view prefix, ByteSpan values);

/// Errors: invalid_argument, in Core's words, for mixed case, a wrong character or checksum, or more than 90
/// characters.
[[nodiscard]] Result<Bech32Text> decode_bech32(std::string_view text);

/// Groups bytes into values of five bits, the last filled up with zeros.
[[nodiscard]] std::vector<std::uint8_t> bytes_to_five_bits(ByteSpan bytes);
/// The reverse; nothing where more than four bits are left over, or one of them is set.
[[nodiscard]] std::optional<std::vector<std::uint8_t>> five_bits_to_bytes(ByteSpan values);

}  // namespace blockpub
