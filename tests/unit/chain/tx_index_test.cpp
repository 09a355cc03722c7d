// SPDX-License-Identifier: MIT
#include "chain/tx_index.hpp"

#include "primitives/block.hpp"
#include "support/mempool_node.hpp"
#include "support/regtest_chain.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;

namespace {

Txid coinbase_of(const BuiltBlock& block) {
    return must(ParsedBlock::parse(block.raw)).transactions()[0].txid;
}

std::unique_ptr<TxIndex> start_index(RegtestChain& chain, const TemporaryDirectory& directory) {
    return must(TxIndex::start({.directory = directory.path(),
                                .map_bytes = std::uint64_t{1} << 28,
                                .store = &chain.store(),
                                .bus = &chain.bus(),
                                .logger = nullptr}));
}

/// Waits until the index is where the chain is; it follows on a thread of its own.
void wait_for(const TxIndex& index, const BlockHash& tip) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!(index.status().synced && index.status().best.hash == tip)) {
        REQUIRE(std::chrono::steady_clock::now() < until);
        std::this_thread::yield();
    }
}

/// Changes a byte wherever the files of a directory have the txid. Result: how often.
std::size_t damage(const std::filesystem::path& directory, const Txid& txid) {
    std::size_t damaged = 0;
    const auto wanted = txid.wire_bytes();
    for (const auto& file : std::filesystem::recursive_directory_iterator(directory)) {
        if (!file.is_regular_file()) continue;
        std::fstream stream(file.path(), std::ios::in | std::ios::out | std::ios::binary);
        std::string bytes{std::istreambuf_iterator<char>(stream), {}};
        const std::string_view needle(reinterpret_cast<const char*>(wanted.data()), wanted.size());
        for (std::size_t at = bytes.find(needle); at != std::string::npos; at = bytes.find(needle, at + 1)) {
            stream.clear();
            stream.seekp(static_cast<std::streamoff>(at));
            stream.put(static_cast<char>(~bytes[at]));
            ++damaged;
        }
    }
    return damaged;
}

}  // namespace

TEST_SUITE_BEGIN("chain.tx_index");

TEST_CASE("the index knows what was there before it, what comes after, and what a restart left") {
    RegtestChain chain;
    const TemporaryDirectory directory;
    const std::vector<BuiltBlock> blocks = build_branch(regtest_genesis(), 12);
    for (std::size_t i = 0; i < 8; ++i) CHECK(chain.submit(blocks[i]) == "");
    {
        const auto index = start_index(chain, directory);
        wait_for(*index, blocks[7].hash);
        for (std::size_t i = 0; i < 8; ++i)
            CHECK(must(index->find(coinbase_of(blocks[i]))) == blocks[i].hash);
        CHECK_FALSE(must(index->find(coinbase_of(blocks[8]))));
        CHECK(chain.submit(blocks[8]) == "");
        wait_for(*index, blocks[8].hash);
        CHECK(must(index->find(coinbase_of(blocks[8]))) == blocks[8].hash);
    }
    for (std::size_t i = 9; i < 12; ++i) CHECK(chain.submit(blocks[i]) == "");
    const auto index = start_index(chain, directory);
    wait_for(*index, blocks[11].hash);
    for (const BuiltBlock& block : blocks) CHECK(must(index->find(coinbase_of(block))) == block.hash);
}

TEST_CASE("the index follows a reorganization, also one that it slept through") {
    RegtestChain chain;
    const TemporaryDirectory directory;
    const std::vector<BuiltBlock> old_branch = build_branch(regtest_genesis(), 3, 1);
    const std::vector<BuiltBlock> new_branch = build_branch(regtest_genesis(), 5, 2);
    chain.submit_all(old_branch);
    {
        const auto index = start_index(chain, directory);
        wait_for(*index, old_branch.back().hash);
    }
    chain.submit_all(new_branch);
    REQUIRE(chain.tip() == new_branch.back().hash);
    auto index = start_index(chain, directory);
    wait_for(*index, new_branch.back().hash);
    for (const BuiltBlock& block : new_branch) CHECK(must(index->find(coinbase_of(block))) == block.hash);
    // Off the chain a row stays, as in bitcoind.
    CHECK(must(index->find(coinbase_of(old_branch[2]))) == old_branch[2].hash);
    // Three blocks against three: the branch that came first is taken again.
    must(chain.chain().invalidate_block(new_branch[3].hash));
    CHECK(chain.tip() == old_branch.back().hash);
    wait_for(*index, chain.tip());
}

TEST_CASE("an index of another store is refused at the start, with what to do") {
    const TemporaryDirectory directory;
    const std::vector<BuiltBlock> blocks = build_branch(regtest_genesis(), 3, 1);
    {
        RegtestChain chain;
        chain.submit_all(blocks);
        wait_for(*start_index(chain, directory), blocks.back().hash);
    }
    RegtestChain other;
    other.submit_all(build_branch(regtest_genesis(), 5, 2));
    const auto refused = TxIndex::start({.directory = directory.path(),
                                         .map_bytes = std::uint64_t{1} << 28,
                                         .store = &other.store(),
                                         .bus = &other.bus(),
                                         .logger = nullptr});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().context.ends_with("remove the directory txindex to have it made again"));
}

TEST_CASE("where the facts of a block are damaged the index reads the block") {
    MempoolNode node;
    node.mine(101);
    const TransactionSpec paid = pay({node.coinbase(0)}, 49 * kCoin);
    const BuiltBlock& block = node.mine_block({paid});
    REQUIRE(node.chain->header(block.hash).facts);
    // Of all that is stored, only the facts have the txid.
    CHECK(damage(node.chain->store_options().directory / "blocks", paid.txid()) > 0);
    const TemporaryDirectory directory;
    const auto index = start_index(*node.chain, directory);
    wait_for(*index, block.hash);
    CHECK(must(index->find(paid.txid())) == block.hash);
    CHECK(must(index->find(coinbase_of(block))) == block.hash);
}

TEST_SUITE_END();
