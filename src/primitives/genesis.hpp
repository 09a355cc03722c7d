// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/bytes.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace blockpub {

/// What a network's first block is made of: one coinbase that pays 50 coins to a bare public key.
struct GenesisFacts {
    std::string_view message;  ///< the newspaper line in the coinbase
    ByteSpan public_key;       ///< of the output
    std::uint32_t time = 0;
    std::uint32_t bits = 0;
    std::uint32_t nonce = 0;
};

/// The serialized block.
[[nodiscard]] std::vector<std::uint8_t> build_genesis(const GenesisFacts& facts);

}  // namespace blockpub
