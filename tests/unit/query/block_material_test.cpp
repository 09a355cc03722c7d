// SPDX-License-Identifier: MIT
#include "query/block_material.hpp"

#include "rpc_fixture.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE_BEGIN("query.block_material");

namespace {

/// The methods over the cache that the chain fills, as the daemon has them.
struct CachedFixture : RpcFixture {
    CachedFixture() {
        context.blocks = &cached;
        context.material = &cached_material;
    }
    CachedReader cached{reader, node.cache()};
    BlockMaterialReader cached_material{node.store(), cached};
};

std::string quoted(const BlockHash& hash) {
    return "[\"" + hash.display_hex() + "\"";
}

}  // namespace

TEST_CASE("what is asked about a new tip, by any method, needs no read of the disk") {
    CachedFixture fixture;
    const BuiltBlock block = child_of(regtest_genesis(), 1);
    REQUIRE(fixture.node.submit(block).empty());
    fixture.reader.failure = Error{Errc::io, "the disk was asked"};
    const auto before = fixture.node.cache().counters();
    for (const char* verbosity : {"0", "1", "2", "3"}) {
        CAPTURE(verbosity);
        const std::string answer = fixture.call("getblock", quoted(block.hash) + "," + verbosity + "]");
        CHECK(answer.find(R"("error":null)") != std::string::npos);
    }
    CHECK(fixture.call("getblockstats", quoted(block.hash) + "]").find(R"("error":null)") !=
          std::string::npos);
    const auto after = fixture.node.cache().counters();
    CHECK(after.misses == before.misses);
    CHECK(after.hits > before.hits);
    CHECK(after.exclusive_acquisitions == before.exclusive_acquisitions);
}

TEST_CASE("what one answer had to read comes in under one acquisition, and is there for the next") {
    CachedFixture fixture;
    const BuiltBlock block = child_of(regtest_genesis(), 1);
    REQUIRE(fixture.node.submit(block).empty());
    const BlockHash hash = block.hash;
    fixture.node.cache().forget({&hash, 1});
    const auto before = fixture.node.cache().counters();
    const std::string first = fixture.call("getblock", quoted(hash) + ",3]");
    const auto between = fixture.node.cache().counters();
    CHECK(between.misses - before.misses == 3);
    CHECK(between.insertions - before.insertions == 3);
    CHECK(between.exclusive_acquisitions - before.exclusive_acquisitions == 1);
    CHECK(fixture.call("getblock", quoted(hash) + ",3]") == first);
    CHECK(fixture.node.cache().counters().misses == between.misses);
}

TEST_CASE("a block without facts or undo data has none, whatever is in the cache") {
    CachedFixture fixture;
    const BuiltBlock block = child_of(regtest_genesis(), 1);
    REQUIRE(fixture.node.submit(block).empty());
    HeaderRecord record = fixture.node.header(block.hash);
    CHECK(must(fixture.cached_material.facts(record)) != nullptr);
    CHECK(must(fixture.cached_material.undo(record)) != nullptr);
    record.facts.reset();
    record.undo.reset();
    CHECK(must(fixture.cached_material.facts(record)) == nullptr);
    CHECK(must(fixture.cached_material.undo(record)) == nullptr);
    record.status |= HeaderRecord::kPruned;
    CHECK(fixture.cached_material.raw(block.hash, record).error().context ==
          "Block not available (pruned data)");
}

TEST_CASE("getblockpubinfo shows the cache's counters") {
    RpcFixture fixture;
    const std::string text = fixture.call("getblockpubinfo");
    CHECK(text.find(R"("block_cache":{"hits":)") != std::string::npos);
    CHECK(text.find(R"("capacity_bytes":8388608,"segments":0})") != std::string::npos);
}

TEST_SUITE_END();
