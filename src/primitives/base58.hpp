// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

/// Digits of `payload` and its four bytes of checksum. Requires: a few hundred bytes at most; the cost is
/// quadratic.
[[nodiscard]] std::string encode_base58check(ByteSpan payload);

/// Longest text of a version byte and a hash of 20 bytes.
inline constexpr std::size_t kMaxBase58Address = 35;
/// The same for a version byte and a hash, without an allocation: writes to `out`, answers where it ends.
/// Requires: room for kMaxBase58Address.
[[nodiscard]] char* encode_base58check_to(std::uint8_t version, std::span<const std::uint8_t, 20> hash,
                                          char* out);

/// Bytes of base58 digits without a checksum, blanks around them dropped; nothing for a wrong digit, or where
/// they were more than `max_size`.
[[nodiscard]] std::optional<std::vector<std::uint8_t>> decode_base58(std::string_view text,
                                                                     std::size_t max_size);

/// Payload of base58check digits; nothing for a wrong digit or checksum, or where it were longer than
/// `max_size` bytes.
[[nodiscard]] std::optional<std::vector<std::uint8_t>> decode_base58check(std::string_view text,
                                                                          std::size_t max_size);

}  // namespace blockpub
