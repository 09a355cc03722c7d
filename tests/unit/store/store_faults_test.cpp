// SPDX-License-Identifier: MIT
#include "store/file_descriptor.hpp"
#include "unit/store/store_fixture.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <lmdb.h>
#include <unistd.h>

#include <cerrno>
#include <string>

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE_BEGIN("store.faults");

namespace {

using Point = StoreFaults::Point;

/// A store with a committed chain of `kCommitted` blocks and the same number applied over it.
struct FaultyStore {
    static constexpr std::uint32_t kCommitted = 5;
    static constexpr std::uint32_t kApplied = 10;

    FaultyStore() {
        options = options_for(directory.path());
        options.faults = &faults;
        store = open_store(options);
        extend(0, kCommitted);
        must(store->commit());
        extend(kCommitted, kApplied);
    }

    void extend(std::uint32_t from, std::uint32_t to) {
        for (std::uint32_t height = from; height < to; ++height) {
            places.push_back(must(store->append_blob(blob_of(height, 100 + height * 3000))));
            store->apply(step(height, height, places.back()));
        }
    }

    /// That a store shows `blocks` of them, all of each.
    void check_shows(Store& shown, std::uint32_t blocks, std::uint32_t durable) {
        const auto snapshot = must(shown.snapshot());
        CHECK(must(snapshot.tip()) == Tip{hash_of(blocks - 1), {blocks - 1}});
        CHECK(must(snapshot.next_event()) == blocks);
        CHECK(must(snapshot.events(0, 100)).size() == blocks);
        CHECK(must(snapshot.tips()) == std::vector{hash_of(blocks - 1)});
        for (std::uint32_t height = 0; height < blocks; ++height) {
            CHECK(must(snapshot.active({height})) == hash_of(height));
            CHECK(must(snapshot.header(hash_of(height))).block == places[height]);
            const auto blob = blob_of(height, 100 + height * 3000);
            CHECK(same_bytes(must(shown.read_blob(places[height])), blob));
            CHECK(same_bytes(must(shown.map_blob(places[height])), blob));
        }
        CHECK(must(shown.read_events(0, 100)).size() == durable);
    }

    void reopen() {
        store.reset();
        faults.heal();
        store = open_store(options);
    }

    TemporaryDirectory directory;
    PlannedFaults faults;
    StoreOptions options;
    std::unique_ptr<Store> store;
    std::vector<BlobPlace> places;
};

}  // namespace

TEST_CASE("a write that fails before the sync is counted, loses nothing and is tried again") {
    struct Case {
        const char* name;
        Point point;
        int code;
        int skip;
        Errc expected;
    };
    constexpr Case kCases[] = {
        {"free space", Point::free_space, ENOSPC, 0, Errc::disk_full},
        {"first blob, no space", Point::segment_put, ENOSPC, 0, Errc::disk_full},
        {"third blob, map full", Point::segment_put, MDB_MAP_FULL, 2, Errc::disk_full},
        {"segment, EIO", Point::segment_commit, EIO, 0, Errc::io},
        {"first record, no space", Point::chain_put, ENOSPC, 0, Errc::disk_full},
        {"tenth record, map full", Point::chain_put, MDB_MAP_FULL, 9, Errc::disk_full},
        {"last record, EIO", Point::chain_put, EIO, 22, Errc::io},
        {"chain, no space", Point::chain_commit, ENOSPC, 0, Errc::disk_full},
        {"chain, EIO", Point::chain_commit, EIO, 0, Errc::io},
    };
    for (const Case& c : kCases) {
        CAPTURE(std::string(c.name));
        FaultyStore fixture;
        fixture.faults.fail(c.point, c.code, c.skip);
        for (std::uint64_t attempt = 1; attempt <= 3; ++attempt) {
            const auto error = error_of(fixture.store->commit());
            CHECK(error.code == c.expected);
            CHECK(error.context.find(fixture.directory.path().native()) != std::string::npos);
            const auto status = fixture.store->status();
            CHECK(status.commits == 1);
            CHECK(status.failed_commits == attempt);
            CHECK(status.last_error == error.context);
            CHECK_FALSE(status.write_stopped);
            CHECK(status.pending_bytes > 0);
            fixture.check_shows(*fixture.store, FaultyStore::kApplied, FaultyStore::kCommitted);
        }
        // What comes meanwhile goes into the same commit.
        fixture.extend(FaultyStore::kApplied, FaultyStore::kApplied + 1);
        fixture.faults.heal();
        must(fixture.store->commit());
        CHECK(fixture.store->status().commits == 2);
        CHECK(fixture.store->pending_bytes() == 0);
        fixture.check_shows(*fixture.store, FaultyStore::kApplied + 1, FaultyStore::kApplied + 1);
        fixture.reopen();
        fixture.check_shows(*fixture.store, FaultyStore::kApplied + 1, FaultyStore::kApplied + 1);
    }
}

TEST_CASE("a sync that fails stops the writing for good, and everything stays readable") {
    for (const Point point : {Point::segment_sync, Point::chain_sync}) {
        CAPTURE(static_cast<int>(point));
        FaultyStore fixture;
        fixture.faults.fail(point, EIO);
        const auto error = error_of(fixture.store->commit());
        CHECK(error.code == Errc::outcome_unknown);
        fixture.faults.heal();
        for (int i = 0; i < 2; ++i) {
            const auto again = error_of(fixture.store->commit());
            CHECK(again.code == Errc::outcome_unknown);
            CHECK(again.context == error.context);
        }
        CHECK(error_of(fixture.store->append_blob(blob_of(1, 10))).code == Errc::outcome_unknown);
        const auto status = fixture.store->status();
        CHECK(status.write_stopped);
        CHECK(status.failed_commits == 1);
        CHECK(status.last_error == error.context);
        fixture.check_shows(*fixture.store, FaultyStore::kApplied, FaultyStore::kCommitted);
        // The next start finds a state that was once current, and goes on.
        fixture.reopen();
        fixture.check_shows(*fixture.store, FaultyStore::kCommitted, FaultyStore::kCommitted);
        fixture.places.resize(FaultyStore::kCommitted);
        fixture.extend(FaultyStore::kCommitted, FaultyStore::kApplied);
        must(fixture.store->commit());
        fixture.check_shows(*fixture.store, FaultyStore::kApplied, FaultyStore::kApplied);
    }
}

TEST_CASE("reading goes on from a fresh environment where LMDB is left in MDB_PANIC") {
    for (const char* file : {"chain/data.mdb", "blocks/00000.mdb"}) {
        CAPTURE(file);
        FaultyStore fixture;
        test::refuse_meta_pages(fixture.directory.path() / file);

        const auto held = must(fixture.store->snapshot());
        CHECK(error_of(fixture.store->commit()).code == Errc::outcome_unknown);
        CHECK(fixture.store->status().write_stopped);
        CHECK(must(held.tip()).height == Height{FaultyStore::kApplied - 1});
        fixture.check_shows(*fixture.store, FaultyStore::kApplied, FaultyStore::kCommitted);
        std::size_t headers = 0;
        must(fixture.store->scan_headers([&](const BlockHash&, const HeaderRecord&) -> Result<void> {
            ++headers;
            return {};
        }));
        CHECK(headers == FaultyStore::kApplied);
    }
}

TEST_CASE("a write that would leave too little free disk is refused with the numbers") {
    const TemporaryDirectory directory;
    auto options = options_for(directory.path());
    options.min_free_disk = std::uint64_t{1} << 60;
    std::vector<BlobPlace> places;
    {
        auto store = open_store(options);
        must(store->commit());  // nothing to write
        const auto place = must(store->append_blob(blob_of(1, 5'000'000)));
        store->apply(step(0, 0, place));
        const auto error = error_of(store->commit());
        CHECK(error.code == Errc::disk_full);
        CHECK(error.context.find(directory.path().native()) != std::string::npos);
        CHECK(error.context.find(" MB are free") != std::string::npos);
        CHECK(error.context.find("1099511627776 MB") != std::string::npos);
        CHECK(same_bytes(must(store->read_blob(place)), blob_of(1, 5'000'000)));
        CHECK(must(must(store->snapshot()).tip()).height == Height{0});
        CHECK_FALSE(store->status().write_stopped);
    }
    options.min_free_disk = 0;
    auto store = open_store(options);
    CHECK(error_of(must(store->snapshot()).tip()).code == Errc::not_found);
}

TEST_CASE("a map of the chain tables that is full fails the commit and keeps the changes") {
    const TemporaryDirectory directory;
    auto options = options_for(directory.path());
    options.map_bytes = std::uint64_t{1} << 20;
    {
        auto store = open_store(options);
        StoreChanges changes;
        for (std::uint64_t i = 0; i < 10'000; ++i) changes.headers.emplace_back(hash_of(i), HeaderRecord{});
        store->apply(std::move(changes));
        CHECK(error_of(store->commit()).code == Errc::disk_full);
        CHECK(error_of(store->commit()).code == Errc::disk_full);
        CHECK(must(store->snapshot()).header(hash_of(77)).has_value());
    }
    options.map_bytes = std::uint64_t{1} << 30;
    auto store = open_store(options);
    CHECK(error_of(must(store->snapshot()).header(hash_of(77))).code == Errc::not_found);
}
