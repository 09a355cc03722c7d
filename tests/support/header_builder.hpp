// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/chain_params.hpp"
#include "primitives/header.hpp"
#include "primitives/work.hpp"

#include <blockpub/hash.hpp>

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
    BlockHash previous = header.hash();
    for (std::size_t i = 0; i < count; ++i) {
        header.previous = previous;
        header.time += 1 + salt;
        header.nonce = 0;
        while (!meets_proof_of_work(previous = header.hash(), header.bits, params.pow_limit)) ++header.nonce;
        headers.push_back(header);
    }
    return headers;
}

}  // namespace blockpub::test
