// SPDX-License-Identifier: MIT
#include "primitives/bech32_errors.hpp"

#include "base/ascii.hpp"
#include "primitives/bech32.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <unordered_map>

namespace blockpub {
namespace {

constexpr std::size_t kMaxListed = 1000;  // of the characters that a megabyte is too long by

/// Characters outside the printable ones, and those whose case differs from the first letter's.
std::vector<std::size_t> wrong_characters(std::string_view text) {
    std::vector<std::size_t> positions;
    bool lower = false;
    bool upper = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (is_lower(c)) {
            if (upper)
                positions.push_back(i);
            else
                lower = true;
        } else if (is_upper(c)) {
            if (lower)
                positions.push_back(i);
            else
                upper = true;
        } else if (c < 33 || c > 126) {
            positions.push_back(i);
        }
    }
    return positions;
}

/// What a change by `value`, `from_end` characters before the last, does to the checksum's remainder.
std::uint32_t effect_of(std::uint8_t value, std::size_t from_end) {
    Bech32Remainder remainder(0);
    remainder.add(value);
    for (std::size_t i = 0; i < from_end; ++i) remainder.add(0);
    return remainder.state();
}

/// Every change of one character among the last `length`: the checksum tells up to two of them apart.
class Changes {
 public:
    explicit Changes(std::size_t length) {
        for (std::size_t from_end = 0; from_end < length; ++from_end) {
            for (std::uint8_t value = 1; value < 32; ++value)
                by_effect_.emplace(effect_of(value, from_end), from_end);
        }
    }
    /// Distances from the end of the one or two characters whose change explains a remainder, the farthest
    /// first; nothing where more must be wrong.
    [[nodiscard]] std::vector<std::size_t> explain(std::uint32_t remainder) const {
        if (const auto one = by_effect_.find(remainder); one != by_effect_.end()) return {one->second};
        for (const auto& [effect, from_end] : by_effect_) {
            const auto other = by_effect_.find(remainder ^ effect);
            if (other == by_effect_.end() || other->second == from_end) continue;
            return {std::max(from_end, other->second), std::min(from_end, other->second)};
        }
        return {};
    }

 private:
    std::unordered_map<std::uint32_t, std::size_t> by_effect_;
};

Bech32Mistake checksum_mistake(std::string_view text, std::uint32_t state, std::size_t length) {
    const Changes changes(length);
    Bech32Mistake mistake{.sentence = "Invalid checksum", .positions = {}};
    // The encoding is the one that fewer mistakes would explain: the version itself may be mistyped.
    for (const Bech32Kind kind : {Bech32Kind::bech32, Bech32Kind::bech32m}) {
        std::vector<std::size_t> found = changes.explain(state ^ bech32_constant(kind));
        if (found.empty() || (!mistake.positions.empty() && found.size() >= mistake.positions.size()))
            continue;
        for (std::size_t& position : found) position = text.size() - 1 - position;
        mistake.positions = std::move(found);
        mistake.sentence =
            kind == Bech32Kind::bech32 ? "Invalid Bech32 checksum" : "Invalid Bech32m checksum";
    }
    return mistake;
}

}  // namespace

Bech32Mistake locate_bech32_mistake(std::string_view text) {
    if (text.size() > kMaxBech32Length) {
        std::vector<std::size_t> beyond(std::min(text.size() - kMaxBech32Length, kMaxListed));
        std::iota(beyond.begin(), beyond.end(), kMaxBech32Length);
        return {.sentence = "Bech32 string too long", .positions = std::move(beyond)};
    }
    if (auto wrong = wrong_characters(text); !wrong.empty())
        return {.sentence = "Invalid character or mixed case", .positions = std::move(wrong)};
    const std::size_t separator = text.rfind('1');
    if (separator == std::string_view::npos) return {.sentence = "Missing separator", .positions = {}};
    if (separator == 0 || separator + kBech32ChecksumLength >= text.size())
        return {.sentence = "Invalid separator position", .positions = {separator}};
    Bech32Remainder remainder;
    std::string prefix;
    for (const char c : text.substr(0, separator)) prefix.push_back(to_lower(c));
    remainder.add_prefix(prefix);
    for (std::size_t i = separator + 1; i < text.size(); ++i) {
        const auto value = bech32_value(to_lower(text[i]));
        if (!value) return {.sentence = "Invalid Base 32 character", .positions = {i}};
        remainder.add(*value);
    }
    return checksum_mistake(text, remainder.state(), text.size() - 1 - separator);
}

}  // namespace blockpub
