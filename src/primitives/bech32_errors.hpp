// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

/// What is wrong with a text that should be bech32 or bech32m, and at which characters.
struct Bech32Mistake {
    std::string sentence;                ///< in Core's words
    std::vector<std::size_t> positions;  ///< of wrong characters, as far as the checksum tells: up to two
};

/// Requires: decode_bech32 refuses the text.
/// Source: Bitcoin Core v28 src/bech32.cpp, LocateErrors.
[[nodiscard]] Bech32Mistake locate_bech32_mistake(std::string_view text);

}  // namespace blockpub
