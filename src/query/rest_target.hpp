// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace blockpub {

enum class RestFormat : std::uint8_t { none, binary, hex, json };

/// What stands behind a route's prefix, taken apart as bitcoind does it: nothing is decoded, and a suffix
/// that is not a format belongs to the parameter. Ownership: views into the text that it was made from.
struct RestTarget {
    std::string_view parameter;
    RestFormat format = RestFormat::none;

    /// The parameter at its slashes; one empty part when it is empty.
    [[nodiscard]] std::vector<std::string_view> parts() const;
};

[[nodiscard]] RestTarget parse_rest_target(std::string_view behind_prefix);

/// One value of a target's query. Source: libevent 2.1, as bitcoind uses it: the first of that name, `+` and
/// `%xx` decoded; a query with a part that has no `=` counts as empty.
struct QueryValue {
    bool malformed = false;  ///< a character that a URI must not hold
    std::optional<std::string> value;
};
[[nodiscard]] QueryValue query_value(std::string_view target, std::string_view name);

/// Core's ToIntegral: digits and, for signed types, a minus; all of the text, and in range.
template <class Integer>
[[nodiscard]] std::optional<Integer> to_integer(std::string_view text) {
    Integer value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

}  // namespace blockpub
