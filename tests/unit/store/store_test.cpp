// SPDX-License-Identifier: MIT
#include "unit/store/store_fixture.hpp"

#include <blockpub/store.hpp>

#include <doctest/doctest.h>

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE_BEGIN("store.store");

TEST_CASE("what was committed is there after the store was closed and opened again") {
    const TemporaryDirectory directory;
    const auto options = options_for(directory.path());
    std::vector<BlobPlace> places;
    {
        auto store = open_store(options);
        for (std::uint32_t height = 0; height < 50; ++height) {
            places.push_back(must(store->append_blob(blob_of(height, 100 + height * 333))));
            store->apply(step(height, height, places.back()));
            if (height % 7 == 6) must(store->commit());
        }
        CHECK(store->pending_bytes() > 0);
        must(store->commit());
        CHECK(store->pending_bytes() == 0);
        CHECK(store->status().commits == 8);
    }
    auto store = open_store(options);
    auto snapshot = must(store->snapshot());
    CHECK(must(snapshot.tip()) == Tip{hash_of(49), {49}});
    CHECK(must(snapshot.tips()) == std::vector<BlockHash>{hash_of(49)});
    CHECK(must(snapshot.next_event()) == 50);
    for (std::uint32_t height = 0; height < 50; ++height) {
        CHECK(must(snapshot.active({height})) == hash_of(height));
        const auto record = must(snapshot.header(hash_of(height)));
        CHECK(record.block == places[height]);
        CHECK(same_bytes(must(store->read_blob(places[height])), blob_of(height, 100 + height * 333)));
    }
    const auto events = must(store->read_events(10, 5));
    REQUIRE(events.size() == 5);
    CHECK(events[0] == step(10, 10, places[10]).events[0]);
    std::size_t headers = 0;
    must(store->scan_headers([&](const BlockHash& hash, const HeaderRecord& record) -> Result<void> {
        CHECK(hash == hash_of(record.height.value));
        ++headers;
        return {};
    }));
    CHECK(headers == 50);
}

TEST_CASE("what was applied is seen at once, and what was appended is read from memory") {
    const TemporaryDirectory directory;
    auto store = open_store(options_for(directory.path()));
    CHECK(must(store->snapshot()).tip().error().code == Errc::not_found);
    const auto place = must(store->append_blob(blob_of(1, 5000)));
    CHECK(same_bytes(must(store->read_blob(place)), blob_of(1, 5000)));
    CHECK(same_bytes(must(store->map_blob(place)), blob_of(1, 5000)));
    store->apply(step(0, 0, place));
    auto snapshot = must(store->snapshot());
    CHECK(must(snapshot.tip()) == Tip{hash_of(0), {0}});
    CHECK(must(snapshot.events(0, 10)).size() == 1);
    CHECK(must(store->read_events(0, 10)).empty());
    must(store->commit());
    CHECK(must(store->read_events(0, 10)).size() == 1);
    CHECK(must(snapshot.events(0, 10)).size() == 1);
    CHECK(same_bytes(must(store->map_blob(place)), blob_of(1, 5000)));
}

TEST_CASE("a step's commit may leave what is derived to the next, and readers see no difference") {
    const TemporaryDirectory directory;
    constexpr std::size_t kLarge = 1'000'000;
    const auto make_step = [](Store& store, std::uint32_t height) {
        const auto block = must(store.append_blob(blob_of(height, kLarge)));
        store.write_ahead();
        StoreChanges changes = step(height, height, block);
        changes.headers.front().second.undo = must(store.append_derived(blob_of(100 + height, 3000)));
        changes.headers.front().second.facts = must(store.append_derived(blob_of(200 + height, 100)));
        const HeaderRecord record = changes.headers.front().second;
        store.apply(std::move(changes));
        must(store.commit_step());
        return record;
    };
    std::vector<HeaderRecord> records;
    const auto check_all = [&](Store& store) {
        const auto snapshot = must(store.snapshot());
        for (std::uint32_t height = 0; height < records.size(); ++height) {
            CHECK(must(snapshot.header(hash_of(height))) == records[height]);
            CHECK(same_bytes(must(store.read_blob(*records[height].block)), blob_of(height, kLarge)));
            CHECK(same_bytes(must(store.read_blob(*records[height].undo)), blob_of(100 + height, 3000)));
            CHECK(same_bytes(must(store.read_blob(*records[height].facts)), blob_of(200 + height, 100)));
        }
    };
    {
        auto store = open_store(options_for(directory.path()));
        for (std::uint32_t height = 0; height < 3; ++height) {
            records.push_back(make_step(*store, height));
            CHECK(store->pending_bytes() > 0);
            CHECK(must(store->read_events(0, 10)).size() == height + 1);
            check_all(*store);
            if (height == 1) {
                must(store->commit());
                CHECK(store->pending_bytes() == 0);
                check_all(*store);
            }
        }
    }
    // As after a crash: the last step is there, and lacks what its commit left.
    auto store = open_store(options_for(directory.path()));
    const auto last = must(must(store->snapshot()).header(hash_of(2)));
    CHECK(last.block == records[2].block);
    CHECK_FALSE(last.undo);
    CHECK_FALSE(last.facts);
    CHECK(must(must(store->snapshot()).tip()) == Tip{hash_of(2), {2}});
    records.pop_back();
    check_all(*store);
    // It gets them again, at places of their own.
    StoreChanges changes;
    changes.headers.emplace_back(hash_of(2), last);
    changes.headers.front().second.undo = must(store->append_derived(blob_of(102, 3000)));
    changes.headers.front().second.facts = must(store->append_derived(blob_of(202, 100)));
    records.push_back(changes.headers.front().second);
    store->apply(std::move(changes));
    must(store->commit());
    check_all(*store);
}

TEST_CASE("a step's commit without anything written ahead writes all") {
    const TemporaryDirectory directory;
    auto store = open_store(options_for(directory.path()));
    StoreChanges changes = step(0, 0, must(store->append_blob(blob_of(1, 5000))));
    changes.headers.front().second.undo = must(store->append_derived(blob_of(2, 5000)));
    store->apply(std::move(changes));
    must(store->commit_step());
    CHECK(store->pending_bytes() == 0);
}

TEST_CASE("meta records are listed by prefix, the committed and the applied ones as one") {
    const TemporaryDirectory directory;
    auto store = open_store(options_for(directory.path()));
    const auto listed = [&](std::string_view prefix) {
        std::string all;
        must(store->scan_meta(prefix, [&](std::string_view key, std::string_view value) -> Result<void> {
            all += std::string(key) + "=" + std::string(value) + " ";
            return {};
        }));
        return all;
    };
    store->apply({.meta = {{"wait/2", "b"}, {"wait/4", "d"}, {"wais", "x"}, {"wau", "y"}}});
    must(store->commit());
    store->apply({.meta = {{"wait/1", "a"},
                           {"wait/2", std::nullopt},
                           {"wait/4", "D"},
                           {"wait/5", "e"},
                           {"wait/6", std::nullopt}}});
    CHECK(listed("wait/") == "wait/1=a wait/4=D wait/5=e ");
    CHECK(listed("") == "wais=x wait/1=a wait/4=D wait/5=e wau=y ");
    CHECK(listed("wz").empty());
    must(store->commit());
    CHECK(listed("wait/") == "wait/1=a wait/4=D wait/5=e ");
    CHECK(must(store->snapshot()).meta("wait/2").error().code == Errc::not_found);
}
