// SPDX-License-Identifier: MIT
#pragma once

// Characters as protocols see them, whatever the locale.

namespace blockpub {

[[nodiscard]] constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

[[nodiscard]] constexpr bool is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}

[[nodiscard]] constexpr bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}

[[nodiscard]] constexpr bool is_alphanumeric(char c) {
    return is_digit(c) || is_upper(c) || is_lower(c);
}

[[nodiscard]] constexpr char to_lower(char c) {
    return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
}

/// The value of a hexadecimal digit of either case; -1 for anything else.
[[nodiscard]] constexpr int hex_digit(char c) {
    if (is_digit(c)) return c - '0';
    const char lower = to_lower(c);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace blockpub
