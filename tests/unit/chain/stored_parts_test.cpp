// SPDX-License-Identifier: MIT
#include "chain/stored_parts.hpp"

#include "chain/coins_ledger.hpp"
#include "chain/monitor.hpp"
#include "chain/step_writer.hpp"
#include "store/cached_reader.hpp"
#include "store/coin_store.hpp"
#include "support/coin_options.hpp"
#include "support/regtest_chain.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;

namespace {

/// A regtest chain that keeps coins, and with them undo data and facts.
struct NodeWithParts {
    NodeWithParts()
        : coins(must(CoinStore::open(coin_options(directory.path())))), ledger(chain_params(ChainKind::regtest), *coins) {
        RegtestChain::Options options = RegtestChain::default_options();
        options.chain.coins = &ledger;
        chain.emplace(std::move(options));
    }
    ~NodeWithParts() { chain.reset(); }
    [[nodiscard]] std::size_t parts_of(const BlockHash& hash) {
        BlockCache& cache = chain->cache();
        return std::size_t{cache.find<RawBlock>(hash) != nullptr} +
               std::size_t{cache.find<StoredFacts>(hash) != nullptr} +
               std::size_t{cache.find<StoredUndo>(hash) != nullptr};
    }

    TemporaryDirectory directory;
    std::unique_ptr<CoinStore> coins;
    CoinsLedger ledger;
    std::optional<RegtestChain> chain;
};

struct NoWait final : RetryWait {
    bool wait(std::chrono::milliseconds) override { return false; }
};

}  // namespace

TEST_SUITE_BEGIN("chain.stored_parts");

TEST_CASE("facts and undo data are the same from the encoder and from the store, where damage is found") {
    NodeWithParts node;
    const BuiltBlock block = child_of(regtest_genesis(), 1);
    REQUIRE(node.chain->submit(block).empty());
    const HeaderRecord record = node.chain->header(block.hash);
    const auto facts_bytes = must(node.chain->store().read_blob(*record.facts));
    const auto undo_bytes = must(node.chain->store().read_blob(*record.undo));
    const auto read_facts = must(StoredFacts::open(facts_bytes));
    const auto made_facts = node.chain->cache().find<StoredFacts>(block.hash);
    REQUIRE(made_facts != nullptr);
    CHECK(made_facts->view().stats() == read_facts->view().stats());
    REQUIRE(made_facts->view().count() == 1);
    CHECK(std::ranges::equal(made_facts->view().txid(0), read_facts->view().txid(0)));
    CHECK(made_facts->tree().node(0, 0) == read_facts->tree().node(0, 0));
    const auto read_undo = must(StoredUndo::open(undo_bytes));
    const auto made_undo = node.chain->cache().find<StoredUndo>(block.hash);
    REQUIRE(made_undo != nullptr);
    CHECK(std::ranges::equal(made_undo->bytes(), read_undo->bytes()));
    CHECK(made_undo->reader().transaction_count() == 0);

    for (const SharedBytes& good : {facts_bytes, undo_bytes}) {
        std::vector<std::uint8_t> damaged(good.bytes().begin(), good.bytes().end());
        damaged.front() ^= 1;
        const auto bytes = SharedBytes::copy_of(damaged);
        CHECK(StoredFacts::open(bytes).error().code == Errc::corrupt);
        CHECK(StoredUndo::open(bytes).error().code == Errc::corrupt);
    }
}

TEST_CASE("all parts of a new tip are in the cache when its event is released") {
    NodeWithParts node;
    std::atomic<std::size_t> parts = 0;
    BlockHash expected;
    std::atomic<bool> armed = false;
    const auto cursor = node.chain->bus().open_cursor([&] {
        if (armed.exchange(false)) parts = node.parts_of(expected);
    });
    for (const BuiltBlock& block : build_branch(regtest_genesis(), 3)) {
        expected = block.hash;
        parts = 0;
        armed = true;
        const auto before = node.chain->cache().counters();
        REQUIRE(node.chain->submit(block).empty());
        CHECK(parts == 3);
        const auto after = node.chain->cache().counters();
        CHECK(after.exclusive_acquisitions - before.exclusive_acquisitions == 1);
        CHECK(after.misses == before.misses);
        while (must(cursor->peek()) != nullptr) cursor->advance();
    }
}

TEST_CASE("an import leaves the cache to those who read") {
    NodeWithParts node;
    const auto before = node.chain->cache().counters().insertions;
    node.chain->chain().begin_import();
    for (const BuiltBlock& block : build_branch(regtest_genesis(), 3)) {
        must(node.chain->chain().import_block(must(ParsedBlock::parse(block.raw))));
        CHECK(node.parts_of(block.hash) == 0);
    }
    must(node.chain->chain().end_import());
    CHECK(node.chain->chain().status().tip.height.value == 3);
    CHECK(node.chain->cache().counters().insertions == before);
}

TEST_CASE("a block of a branch that comes back is in the cache again, and one that is left is readable") {
    NodeWithParts node;
    const auto a = build_branch(regtest_genesis(), 2, 1);
    node.chain->submit_all(a);
    node.chain->cache().forget(std::vector<BlockHash>{a[0].hash, a[1].hash});
    must(node.chain->chain().invalidate_block(a[0].hash));
    CachedReader reader(node.chain->store().block_reader(), node.chain->cache());
    const SharedBytes left = must(reader.read_block(a[1].hash));
    CHECK(std::ranges::equal(left.bytes(), a[1].raw.bytes()));
    node.chain->cache().forget(std::vector<BlockHash>{a[0].hash, a[1].hash});
    must(node.chain->chain().reconsider_block(a[0].hash));
    CHECK(node.chain->tip() == a[1].hash);
    CHECK(node.parts_of(a[1].hash) == 3);
}

TEST_CASE("a block that its record gives up leaves the cache with the step, and its readers hear why") {
    NodeWithParts node;
    const auto a = build_branch(regtest_genesis(), 2);
    node.chain->submit_all(a);
    REQUIRE(node.parts_of(a[0].hash) == 3);
    node.chain->chain().stop();

    ChainOptions options;
    options.store = &node.chain->store();
    options.bus = &node.chain->bus();
    options.cache = &node.chain->cache();
    NoWait wait;
    ChainMonitor monitor;
    StepWriter writer(options, wait, monitor, 3);
    StepChanges::Taken changes;
    HeaderRecord record = node.chain->header(a[0].hash);
    record.status |= HeaderRecord::kPruned;
    record.block.reset();
    record.undo.reset();
    record.facts.reset();
    changes.store.headers.emplace_back(a[0].hash, record);
    CachedReader reader(node.chain->store().block_reader(), node.chain->cache());
    CHECK(reader.map_block(a[0].hash).has_value());
    writer.add(std::move(changes));
    CHECK(node.parts_of(a[0].hash) == 0);
    CHECK(node.parts_of(a[1].hash) == 3);
    for (const Error& error : {reader.read_block(a[0].hash).error(), reader.map_block(a[0].hash).error()}) {
        CHECK(error.code == Errc::unavailable);
        CHECK(error.context == "Block not available (pruned data)");
    }
}

TEST_SUITE_END();
