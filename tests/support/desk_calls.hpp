// SPDX-License-Identifier: MIT
#pragma once

#include "chain/header_desk.hpp"
#include "primitives/block.hpp"
#include "primitives/header.hpp"
#include "support/block_builder.hpp"
#include "support/regtest_chain.hpp"

#include <doctest/doctest.h>

#include <algorithm>
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

/// All that a peer sends when it is asked for headers.
inline void send_headers(RegtestChain& node, const std::vector<BuiltBlock>& blocks, bool end = true) {
    const bool taken = at_desk(node, [&](HeaderDesk& desk) {
        const auto outcome = desk.take(headers_of(blocks));
        if (end && outcome.last) desk.headers_end(outcome.last->hash);
        return outcome.last && !outcome.rejection;
    });
    REQUIRE(taken);
}

/// Waits until all that was done is committed and released.
inline void commit_all(RegtestChain& node) {
    node.chain().begin_import();
    must(node.chain().end_import());
}

/// Hands in those of `blocks` that are wanted.
inline void deliver_missing(RegtestChain& node, const std::vector<BuiltBlock>& blocks) {
    for (const BlockHash& hash : missing(node, blocks.back().hash)) {
        const auto block = std::ranges::find(blocks, hash, &BuiltBlock::hash);
        REQUIRE(block != blocks.end());
        CHECK(deliver(node, block->raw).kind == DeliveredBlock::Kind::accepted);
    }
}

}  // namespace blockpub::test
