// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/bytes.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

/// Digits of `payload` and its four bytes of checksum. Requires: a few hundred bytes at most; the cost is
/// quadratic.
[[nodiscard]] std::string encode_base58check(ByteSpan payload);

/// Bytes of base58 digits without a checksum, blanks around them dropped; nothing for a wrong digit, or where
/// they were more than `max_size`.
[[nodiscard]] std::optional<std::vector<std::uint8_t>> decode_base58(std::string_view text,
                                                                     std::size_t max_size);

/// Payload of base58check digits; nothing for a wrong digit or checksum, or where it were longer than
/// `max_size` bytes.
[[nodiscard]] std::optional<std::vector<std::uint8_t>> decode_base58check(std::string_view text,
                                                                          std::size_t max_size);

}  // namespace blockpub
