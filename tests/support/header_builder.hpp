// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/chain_params.hpp"
#include "primitives/header.hpp"
#include "support/block_builder.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace blockpub::test {

/// `count` regtest headers, each a second after the one before it; `salt` makes them others. They follow
/// `parent`, or genesis.
[[nodiscard]] inline std::vector<BlockHeader> make_headers(std::size_t count, std::uint32_t salt = 0,
                                                           const BlockHeader* parent = nullptr) {
    const ChainParams& params = chain_params(ChainKind::regtest);
    std::vector<BlockHeader> headers;
    headers.reserve(count);
    BlockHeader header = parent != nullptr ? *parent : BlockHeader::decode(params.genesis);
    for (std::size_t i = 0; i < count; ++i) {
        header.previous = header.hash();
        header.time += 1 + salt;
        header.nonce = 0;
        mine_header(header, params.pow_limit);
        headers.push_back(header);
    }
    return headers;
}

}  // namespace blockpub::test
