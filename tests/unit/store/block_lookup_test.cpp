// SPDX-License-Identifier: MIT
#include "store/block_lookup.hpp"

#include "primitives/header.hpp"
#include "unit/store/store_fixture.hpp"

#include <doctest/doctest.h>

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE_BEGIN("store.block_lookup");

namespace {

void put_header(Store& store, const BlockHash& hash, std::optional<BlobPlace> place,
                std::uint32_t status = 0) {
    HeaderRecord record;
    record.block = place;
    record.status = status;
    store.apply({.headers = {{hash, record}}});
}

struct Answer {
    Errc code;
    const char* text;
};

void check_both(BlockReader& reader, const BlockHash& hash, const Answer& expected) {
    const auto read = error_of(reader.read_block(hash));
    CHECK(read.code == expected.code);
    CHECK(read.context == expected.text);
    const auto mapped = error_of(reader.map_block(hash));
    CHECK(mapped.code == expected.code);
    CHECK(mapped.context == expected.text);
}

}  // namespace

TEST_CASE("a stored block is read by its hash, before and after its commit") {
    const TemporaryDirectory directory;
    auto store = open_store(options_for(directory.path()));
    const auto block = blob_of(1, 3000);
    const auto hash = hash_header(block.bytes());
    put_header(*store, hash, must(store->append_blob(block)));
    CHECK(must(store->block_reader().read_block(hash)).data() == block.data());
    must(store->commit());
    CHECK(same_bytes(must(store->block_reader().read_block(hash)), block));
    CHECK(same_bytes(must(store->block_reader().map_block(hash)), block));
}

TEST_CASE("what is not here is answered with Core's words") {
    const TemporaryDirectory directory;
    auto options = options_for(directory.path());
    options.open_segments = 1;
    auto store = open_store(options);
    check_both(store->block_reader(), hash_of(1), {Errc::not_found, "Block not found"});
    put_header(*store, hash_of(2), std::nullopt);
    check_both(store->block_reader(), hash_of(2), {Errc::unavailable, "Block not found on disk"});
    put_header(*store, hash_of(3), std::nullopt, HeaderRecord::kPruned);
    check_both(store->block_reader(), hash_of(3), {Errc::unavailable, "Block not available (pruned data)"});
    // Pruned between the look-up and the read: the record is old, the segment has gone.
    for (std::uint64_t i = 0; i < 9; ++i) {
        put_header(*store, hash_of(10 + i), must(store->append_blob(blob_of(i, 3'900'000))));
    }
    must(store->commit());
    std::filesystem::remove(directory.path() / "blocks" / "00000.mdb");
    check_both(store->block_reader(), hash_of(10), {Errc::unavailable, "Block not available (pruned data)"});
}

TEST_CASE("bytes that are not the block asked for are corrupt, and their place is named") {
    const TemporaryDirectory directory;
    auto store = open_store(options_for(directory.path()));
    put_header(*store, hash_of(1), must(store->append_blob(blob_of(1, 3000))));
    put_header(*store, hash_of(2), must(store->append_blob(blob_of(2, 79))));
    for (const std::uint64_t number : {1, 2}) {
        const auto error = error_of(store->block_reader().read_block(hash_of(number)));
        CHECK(error.code == Errc::corrupt);
        CHECK(error.context.find("segment 00000") != std::string::npos);
        CHECK(error.context.find(hash_of(number).display_hex()) != std::string::npos);
    }
}
