// SPDX-License-Identifier: MIT
#pragma once

#include "chain/header_desk.hpp"
#include "primitives/block.hpp"
#include "primitives/header.hpp"
#include "support/block_builder.hpp"
#include "support/regtest_chain.hpp"

#include <cstddef>
#include <future>
#include <utility>
#include <vector>

namespace blockpub::test {

inline std::vector<BuiltBlock> build_chain(std::size_t count) {
    std::vector<BuiltBlock> blocks;
    for (std::size_t i = 0; i < count; ++i)
        blocks.push_back(child_of(i == 0 ? regtest_genesis() : blocks.back()));
    return blocks;
}

/// Asks at the desk and waits for the answer.
template <class Ask>
auto at_desk(RegtestChain& node, Ask ask) {
    using Answer = decltype(ask(std::declval<HeaderDesk&>()));
    std::promise<Answer> answer;
    must(node.chain().post_headers([&](HeaderDesk& desk) { answer.set_value(ask(desk)); }));
    return answer.get_future().get();
}

/// Hands in a block as a peer's.
inline DeliveredBlock deliver(RegtestChain& node, const SharedBytes& raw) {
    std::promise<DeliveredBlock> outcome;
    must(node.chain().deliver_block(must(ParsedBlock::parse(raw)),
                                    [&](const DeliveredBlock& done) { outcome.set_value(done); }));
    return outcome.get_future().get();
}

inline std::vector<BlockHeader> headers_of(const std::vector<BuiltBlock>& blocks) {
    std::vector<BlockHeader> headers;
    for (const BuiltBlock& block : blocks) headers.push_back(BlockHeader::decode(block.raw.bytes()));
    return headers;
}

inline std::vector<BlockHash> missing(RegtestChain& node, const BlockHash& end, std::size_t reach = 1000) {
    return at_desk(node, [&](HeaderDesk& desk) {
        std::vector<BlockHash> hashes;
        for (const auto& block : desk.missing_blocks(end, reach)) hashes.push_back(block.hash);
        return hashes;
    });
}

inline std::vector<BlockHash> hashes_of(const std::vector<BuiltBlock>& blocks) {
    std::vector<BlockHash> hashes;
    for (const BuiltBlock& block : blocks) hashes.push_back(block.hash);
    return hashes;
}

}  // namespace blockpub::test
