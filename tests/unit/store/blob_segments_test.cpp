// SPDX-License-Identifier: MIT
#include "store/blob_segments.hpp"

#include "primitives/sha256.hpp"
#include "unit/store/store_fixture.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <lmdb.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <memory>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE_BEGIN("store.blob_segments");

namespace {

constexpr std::uint64_t kSegmentBytes = std::uint64_t{16} << 20;

// Where the size does not matter: four of these blobs fill such a segment.
constexpr std::uint64_t kSmallSegment = std::uint64_t{1} << 20;
constexpr std::size_t kQuarter = 180'000;

/// The segments of one directory, opened as the store does.
struct Segments {
    explicit Segments(const std::filesystem::path& directory, std::uint64_t segment_bytes = kSmallSegment,
                      std::size_t open_segments = 8)
        : janitor(std::make_shared<Janitor>()) {
        options.directory = directory / "blocks";
        options.segment_bytes = segment_bytes;
        options.open_segments = open_segments;
        options.janitor = janitor;
        options.faults = &faults;
        lock_directory = directory;
    }
    ~Segments() { close(); }

    Result<void> try_open() {
        options.lock = must(DirectoryLock::acquire(lock_directory));
        auto opened = BlobSegments::open(options);
        options.lock.reset();
        if (!opened) return forward_error(opened);
        segments = std::move(*opened);
        return {};
    }
    BlobSegments& open() {
        must(try_open());
        return *segments;
    }
    void close() {
        segments.reset();
        janitor->stop();
        options.janitor = janitor = std::make_shared<Janitor>();
    }

    std::shared_ptr<Janitor> janitor;
    BlobSegmentsOptions options;
    std::filesystem::path lock_directory;
    PlannedFaults faults;
    std::unique_ptr<BlobSegments> segments;
};

/// Fills segments with blobs of `size` bytes until number `segment` is begun; commits after each `batch`.
std::vector<BlobPlace> fill_until(BlobSegments& segments, std::uint32_t segment, std::size_t size,
                                  std::size_t batch) {
    std::vector<BlobPlace> places;
    while (segments.end().segment < segment) {
        places.push_back(must(segments.append(blob_of(places.size(), size))));
        if (places.size() % batch == 0) must(segments.commit());
    }
    must(segments.commit());
    return places;
}

std::filesystem::path file_of(const std::filesystem::path& directory, const char* name) {
    return directory / "blocks" / name;
}

}  // namespace

TEST_CASE("every view stays good over a hundred later commits and across seals") {
    const TemporaryDirectory directory;
    Segments fixture(directory.path(), kSegmentBytes);
    auto& segments = fixture.open();
    struct View {
        MappedBytes bytes;
        Digest256 digest;
    };
    std::vector<View> views;
    const std::size_t sizes[] = {100,  500,  1000, 2000,   2022,    2023,      2048,     2049,
                                 4080, 4081, 5000, 70'000, 300'000, 1'000'000, 4'000'000};
    std::vector<BlobPlace> places;
    std::uint64_t seed = 0;
    const auto add = [&](std::size_t size) {
        const auto blob = blob_of(seed++, size);
        const auto place = must(segments.append(blob));
        views.push_back({must(segments.map(place)), sha256(blob.bytes())});  // from memory
        places.push_back(place);
    };
    const auto view_last = [&](std::size_t count) {
        for (std::size_t i = places.size() - count; i < places.size(); ++i) {
            views.push_back({must(segments.map(places[i])), views[2 * i].digest});
        }
    };
    const auto all_good = [&] {
        for (const View& view : views) {
            if (sha256(view.bytes.bytes()) != view.digest) return false;
        }
        return true;
    };
    // Views come in pairs: one taken before the commit, one after.
    for (const std::size_t size : sizes) {
        add(size);
        must(segments.commit());
        view_last(1);
    }
    CHECK(all_good());
    for (int commit = 0; commit < 100; ++commit) {
        add(sizes[static_cast<std::size_t>(commit) % std::size(sizes)]);
        must(segments.commit());
        view_last(1);
    }
    CHECK(segments.end().segment >= 2);
    CHECK(all_good());
    for (std::size_t i = 0; i < places.size(); ++i) {
        const auto read = must(segments.read(places[i]));
        CHECK(sha256(read.bytes()) == views[2 * i].digest);
    }
}

TEST_CASE("a segment filled to the last page takes its transaction, whatever the sizes") {
    struct Case {
        const char* name;
        std::size_t smallest;
        std::size_t largest;
        std::size_t batch;
    };
    constexpr Case kCases[] = {
        {"one page and a leaf entry", 2048, 4080, 100'000},
        {"just two pages", 4081, 4081, 100'000},
        {"two to a leaf", 2000, 2022, 100'000},
        {"around the limit of a leaf", 2020, 2026, 1000},
        {"tiny", 0, 60, 1'000'000},
        {"early blocks", 180, 300, 20'000},
        {"blocks", 900'000, 1'100'000, 1},
        {"large blocks in bulk", 3'900'000, 4'000'000, 4},
        {"mixed", 0, 100'000, 50},
    };
    for (const Case& c : kCases) {
        CAPTURE(std::string(c.name));
        const TemporaryDirectory directory;
        Segments fixture(directory.path(), kSegmentBytes);
        auto& segments = fixture.open();
        std::mt19937_64 random(7);
        std::uniform_int_distribution<std::size_t> size(c.smallest, c.largest);
        std::vector<BlobPlace> places;
        while (segments.end().segment == 0) {
            places.push_back(must(segments.append(blob_of(places.size(), size(random)))));
            if (places.size() % c.batch == 0) must(segments.commit());
        }
        must(segments.commit());
        // It was worth it: what did not fit was the last blob, and the 64 pages kept free.
        const auto used = std::filesystem::file_size(file_of(directory.path(), "00000.mdb"));
        CHECK(used <= kSegmentBytes);
        CHECK(used + c.largest + 2 * 64 * 4096 + kSegmentBytes / 100 >= kSegmentBytes);
        for (std::size_t i = 0; i < places.size(); i += 1 + places.size() / 100) {
            CHECK(same_bytes(must(segments.read(places[i])), blob_of(i, places[i].size)));
        }
    }
}

TEST_CASE("the largest blob that is said to fit does, and the next goes to the next segment") {
    const TemporaryDirectory directory;
    Segments fixture(directory.path(), kSegmentBytes);
    auto& segments = fixture.open();
    SegmentFill fill(4096, kSegmentBytes, 2);
    for (int i = 0; i < 3; ++i) {
        must(segments.append(blob_of(1, 3'000'000)));
        fill.add(3'000'000);
    }
    std::size_t size = kSegmentBytes;
    while (!fill.fits(size)) --size;
    const auto last = must(segments.append(blob_of(2, size)));
    const auto next = must(segments.append(blob_of(3, 2023)));
    CHECK(last == BlobPlace{0, 3, static_cast<std::uint32_t>(size)});
    CHECK(next == BlobPlace{1, 0, 2023});
    must(segments.commit());
    CHECK(same_bytes(must(segments.map(last)), blob_of(2, size)));
    CHECK(same_bytes(must(segments.map(next)), blob_of(3, 2023)));
}

TEST_CASE("the foreseen pages are never less than those that LMDB uses") {
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{300}, std::size_t{2022}, std::size_t{2023},
          std::size_t{4080}, std::size_t{4081}, std::size_t{50'000}}) {
        CAPTURE(size);
        const TemporaryDirectory directory;
        Segments fixture(directory.path(), kSegmentBytes);
        auto& segments = fixture.open();
        SegmentFill fill(4096, kSegmentBytes, 2);
        for (std::uint64_t i = 0; i < 200; ++i) {
            must(segments.append(blob_of(i, size)));
            fill.add(size);
        }
        must(segments.commit());
        const auto pages = std::filesystem::file_size(file_of(directory.path(), "00000.mdb")) / 4096;
        CHECK(pages <= fill.pages() + 4);
        CHECK(pages + 4 >= fill.pages());
    }
}

TEST_CASE("a blob larger than a segment is refused, an empty one is kept") {
    const TemporaryDirectory directory;
    Segments fixture(directory.path(), kSegmentBytes);
    auto& segments = fixture.open();
    CHECK(error_of(segments.append(blob_of(1, kSegmentBytes))).code == Errc::limit);
    const auto place = must(segments.append(SharedBytes()));
    CHECK(place == BlobPlace{0, 0, 0});
    CHECK(must(segments.read(place)).empty());
    must(segments.commit());
    CHECK(must(segments.read(place)).empty());
    CHECK(must(segments.map(place)).size() == 0);
}

TEST_CASE("a write that fails loses nothing, and the same places are written by the next attempt") {
    struct Case {
        const char* name;
        StoreFaults::Point point;
        int code;
        Errc expected;
    };
    using Point = StoreFaults::Point;
    constexpr Case kCases[] = {
        {"put, no space", Point::segment_put, ENOSPC, Errc::disk_full},
        {"put, map full", Point::segment_put, MDB_MAP_FULL, Errc::disk_full},
        {"put, EIO", Point::segment_put, EIO, Errc::io},
        {"commit, no space", Point::segment_commit, ENOSPC, Errc::disk_full},
        {"commit, map full", Point::segment_commit, MDB_MAP_FULL, Errc::disk_full},
        {"commit, EIO", Point::segment_commit, EIO, Errc::io},
    };
    std::vector<SharedBytes> blobs;
    for (std::uint64_t i = 0; i < 6; ++i) blobs.push_back(blob_of(i, kQuarter));
    for (const Case& c : kCases) {
        // Skipping commits lets the failure fall into the second of the two segments that are written.
        for (const int skip : {0, 1}) {
            CAPTURE(std::string(c.name));
            CAPTURE(skip);
            const TemporaryDirectory directory;
            Segments fixture(directory.path());
            std::vector<BlobPlace> places;
            auto& segments = fixture.open();
            for (std::uint64_t i = 0; i < 6; ++i)
                places.push_back(must(segments.append(blob_of(i, kQuarter))));
            CHECK(segments.end().segment == 1);
            fixture.faults.fail(c.point, c.code, c.point == Point::segment_put ? 4 * skip : skip);
            for (int attempt = 0; attempt < 2; ++attempt) {
                CHECK(error_of(segments.commit()).code == c.expected);
                for (std::size_t i = 0; i < places.size(); ++i) {
                    CHECK(same_bytes(must(segments.read(places[i])), blobs[i]));
                }
            }
            fixture.faults.heal();
            must(segments.commit());
            CHECK(segments.counters().pending_bytes == 0);
            fixture.close();
            auto& again = fixture.open();
            CHECK(again.end() == BlobEnd{1, 2});
            for (std::size_t i = 0; i < places.size(); ++i) {
                CHECK(same_bytes(must(again.read(places[i])), blobs[i]));
            }
        }
    }
}

TEST_CASE("what is written ahead is what the next commit would have written") {
    const TemporaryDirectory directory;
    Segments fixture(directory.path());
    auto& segments = fixture.open();
    std::vector<BlobPlace> places;
    const auto add = [&] { places.push_back(must(segments.append(blob_of(places.size(), kQuarter)))); };
    for (int round = 0; round < 10; ++round) {
        add();
        segments.write_ahead();
        // More while it is being written, into the next segment too.
        for (int more = 0; more < round % 4; ++more) add();
        segments.write_ahead();
        for (std::size_t i = 0; i < places.size(); ++i)
            CHECK(same_bytes(must(segments.read(places[i])), blob_of(i, kQuarter)));
        must(segments.commit());
        CHECK(segments.counters().pending_bytes == 0);
    }
    CHECK(segments.end().segment >= 3);
    // Not committed: as if nothing had been asked for.
    add();
    segments.write_ahead();
    fixture.close();
    auto& again = fixture.open();
    for (std::size_t i = 0; i + 1 < places.size(); ++i)
        CHECK(same_bytes(must(again.read(places[i])), blob_of(i, kQuarter)));
}

TEST_CASE("the commit tells what failed ahead of it, and the next one writes it") {
    using Point = StoreFaults::Point;
    for (const Point point : {Point::segment_put, Point::segment_commit}) {
        const TemporaryDirectory directory;
        Segments fixture(directory.path());
        auto& segments = fixture.open();
        const auto first = must(segments.append(blob_of(1, kQuarter)));
        fixture.faults.fail(point, ENOSPC);
        segments.write_ahead();
        const auto second = must(segments.append(blob_of(2, kQuarter)));
        CHECK(error_of(segments.commit()).code == Errc::disk_full);
        CHECK(same_bytes(must(segments.read(first)), blob_of(1, kQuarter)));
        fixture.faults.heal();
        must(segments.commit());
        CHECK(segments.counters().pending_bytes == 0);
        fixture.close();
        auto& again = fixture.open();
        CHECK(same_bytes(must(again.read(first)), blob_of(1, kQuarter)));
        CHECK(same_bytes(must(again.read(second)), blob_of(2, kQuarter)));
    }
}

TEST_CASE("a sync that fails ahead of a commit stops it") {
    const TemporaryDirectory directory;
    Segments fixture(directory.path());
    auto& segments = fixture.open();
    const auto place = must(segments.append(blob_of(1, kQuarter)));
    fixture.faults.fail(StoreFaults::Point::segment_sync, EIO);
    segments.write_ahead();
    CHECK(error_of(segments.commit()).code == Errc::outcome_unknown);
    CHECK(same_bytes(must(segments.map(place)), blob_of(1, kQuarter)));
}

TEST_CASE("a sync that fails leaves the outcome unknown, and what was appended readable") {
    const TemporaryDirectory directory;
    Segments fixture(directory.path());
    auto& segments = fixture.open();
    const auto before = must(segments.append(blob_of(1, 10'000)));
    must(segments.commit());
    const auto place = must(segments.append(blob_of(2, 10'000)));
    fixture.faults.fail(StoreFaults::Point::segment_sync, EIO);
    CHECK(error_of(segments.commit()).code == Errc::outcome_unknown);
    CHECK(same_bytes(must(segments.read(before)), blob_of(1, 10'000)));
    CHECK(same_bytes(must(segments.map(place)), blob_of(2, 10'000)));
}

TEST_CASE("numbers go on after the last one that is in the file") {
    const TemporaryDirectory directory;
    Segments fixture(directory.path());
    {
        auto& segments = fixture.open();
        for (std::uint64_t i = 0; i < 5; ++i) must(segments.append(blob_of(i, 50)));
        must(segments.commit());
        must(segments.append(blob_of(5, 50)));  // never committed
        fixture.close();
    }
    auto& segments = fixture.open();
    CHECK(segments.end() == BlobEnd{0, 5});
    CHECK(must(segments.append(blob_of(9, 60))) == BlobPlace{0, 5, 60});
}

TEST_CASE("a sealed segment loses its lock file and is opened again when it is read") {
    const TemporaryDirectory directory;
    Segments fixture(directory.path(), kSmallSegment, 2);
    auto& segments = fixture.open();
    const auto places = fill_until(segments, 5, kQuarter, 2);
    for (const char* name : {"00000.mdb", "00001.mdb", "00002.mdb", "00003.mdb", "00004.mdb"}) {
        CHECK(std::filesystem::exists(file_of(directory.path(), name)));
        CHECK_FALSE(std::filesystem::exists(file_of(directory.path(), name) += "-lock"));
    }
    CHECK(std::filesystem::exists(file_of(directory.path(), "00005.mdb-lock")));
    for (std::size_t i = 0; i < places.size(); ++i) CHECK(must(segments.read(places[i])).size() == kQuarter);
    // Two sealed ones and the one that is written.
    CHECK(segments.counters().open_segments == 3);
    CHECK(segments.counters().segments == 6);
    CHECK(segments.counters().bytes_on_disk > places.size() * kQuarter);
}

TEST_CASE("a blob of a segment that is gone is unavailable, a view of it stays good") {
    const TemporaryDirectory directory;
    Segments fixture(directory.path(), kSmallSegment, 1);
    auto& segments = fixture.open();
    const auto places = fill_until(segments, 2, kQuarter, 2);
    const auto view = must(segments.map(places[0]));
    std::filesystem::remove(file_of(directory.path(), "00000.mdb"));
    must(segments.read(places[5]));  // the only place among the open ones is taken
    CHECK(error_of(segments.read(places[0])).code == Errc::unavailable);
    CHECK(error_of(segments.map(places[1])).code == Errc::unavailable);
    CHECK(same_bytes(view, blob_of(0, kQuarter)));
}

TEST_CASE("segments that are removed give the disk back, and readers under way their bytes") {
    const TemporaryDirectory directory;
    Segments fixture(directory.path());
    auto& segments = fixture.open();
    const auto places = fill_until(segments, 3, kQuarter, 2);
    const auto sealed = segments.sealed();
    REQUIRE(sealed.size() == 3);
    for (const auto& [number, bytes] : sealed)
        CHECK(bytes ==
              std::filesystem::file_size(directory.path() / "blocks" / fmt::format("{:05}.mdb", number)));
    must(segments.read(places[0]));
    const auto view = must(segments.map(places[1]));
    const auto before = segments.counters();

    const std::array<std::uint32_t, 2> gone{0, 1};
    must(segments.remove(gone));
    CHECK(segments.counters().segments == before.segments - 2);
    CHECK(segments.counters().bytes_on_disk == before.bytes_on_disk - sealed.at(0) - sealed.at(1));
    CHECK(segments.counters().open_segments == before.open_segments - 1);
    CHECK_FALSE(std::filesystem::exists(file_of(directory.path(), "00000.mdb")));
    CHECK(error_of(segments.read(places[0])).code == Errc::unavailable);
    CHECK(same_bytes(view, blob_of(1, kQuarter)));
    CHECK(segments.read(places.back()).has_value());
    must(segments.remove(gone));  // again: done already
    CHECK(segments.sealed().size() == 1);

    // Numbers go on.
    const auto end = segments.end();
    fixture.close();
    CHECK(fixture.open().end() == end);
}

TEST_CASE("a segment that cannot be removed still counts, and the others go") {
    const TemporaryDirectory directory;
    Segments fixture(directory.path());
    auto& segments = fixture.open();
    static_cast<void>(fill_until(segments, 3, kQuarter, 2));
    const auto stubborn = file_of(directory.path(), "00000.mdb");
    std::filesystem::remove(stubborn);
    std::filesystem::create_directories(stubborn / "in the way");
    const std::array<std::uint32_t, 2> gone{0, 1};
    const Error error = error_of(segments.remove(gone));
    CHECK(error.code == Errc::io);
    CHECK(error.context.find(stubborn.native()) != std::string::npos);
    CHECK(segments.sealed().contains(0));
    CHECK_FALSE(segments.sealed().contains(1));
    std::filesystem::remove_all(stubborn);
    must(segments.remove(gone));
    CHECK_FALSE(segments.sealed().contains(0));
}

TEST_CASE("a place that holds nothing, or something of another size, is corrupt") {
    const TemporaryDirectory directory;
    Segments fixture(directory.path());
    auto& segments = fixture.open();
    auto place = must(segments.append(blob_of(1, 5000)));
    place.size = 4999;
    CHECK(error_of(segments.read(place)).code == Errc::corrupt);
    must(segments.commit());
    CHECK(error_of(segments.read(place)).code == Errc::corrupt);
    CHECK(error_of(segments.map(place)).code == Errc::corrupt);
    place = {0, 1, 5000};
    CHECK(error_of(segments.read(place)).code == Errc::corrupt);
    CHECK(error_of(segments.read(place)).context.find("00000.mdb") != std::string::npos);
}

TEST_CASE("a segment that is cut short is named") {
    const TemporaryDirectory directory;
    Segments fixture(directory.path());
    std::vector<BlobPlace> places;
    places = fill_until(fixture.open(), 1, kQuarter, 2);
    fixture.close();
    SUBCASE("a sealed one, when it is read") {
        std::filesystem::resize_file(file_of(directory.path(), "00000.mdb"), 300'000);
        auto& segments = fixture.open();
        const auto error = error_of(segments.read(places[0]));
        CHECK(error.code == Errc::corrupt);
        CHECK(error.context.find("00000.mdb") != std::string::npos);
        CHECK(must(segments.read(places.back())).size() == kQuarter);
    }
    SUBCASE("the one that is written, at the start") {
        std::filesystem::resize_file(file_of(directory.path(), "00001.mdb"), 9000);
        fixture.options.referenced_end = {1, 1};
        const auto error = error_of(fixture.try_open());
        CHECK(error.code == Errc::corrupt);
        CHECK(error.context.find("00001.mdb") != std::string::npos);
    }
    SUBCASE("one that is missing altogether, at the start") {
        std::filesystem::remove(file_of(directory.path(), "00001.mdb"));
        fixture.options.referenced_end = {1, 1};
        const auto error = error_of(fixture.try_open());
        CHECK(error.code == Errc::corrupt);
        CHECK(error.context.find("00001.mdb") != std::string::npos);
    }
}

TEST_CASE("a file whose first commit never reached the disk is made anew") {
    struct Case {
        const char* name;
        std::string content;
    };
    const Case cases[] = {
        {"empty", ""}, {"zeros", std::string(8192, '\0')}, {"half a page", std::string(2000, '\0')}};
    for (const Case& c : cases) {
        CAPTURE(std::string(c.name));
        const TemporaryDirectory directory;
        Segments fixture(directory.path());
        const auto places = fill_until(fixture.open(), 1, kQuarter, 2);
        const auto end = fixture.segments->end();
        fixture.close();
        fixture.options.referenced_end = end;
        std::ofstream(file_of(directory.path(), "00002.mdb"), std::ios::binary) << c.content;
        auto& segments = fixture.open();
        const auto place = must(segments.append(blob_of(77, 1000)));
        must(segments.commit());
        CHECK(same_bytes(must(segments.read(place)), blob_of(77, 1000)));
        CHECK(must(segments.read(places[0])).size() == kQuarter);
    }
}

TEST_CASE("other names in the directory are left alone") {
    const TemporaryDirectory directory;
    Segments fixture(directory.path());
    std::filesystem::create_directories(directory.path() / "blocks");
    for (const char* name : {"1.mdb", "000001.mdb", "0000x.mdb", "99999.mdb.bak", "readme"}) {
        std::ofstream(file_of(directory.path(), name)) << "text";
    }
    auto& segments = fixture.open();
    must(segments.append(blob_of(1, 100)));
    must(segments.commit());
    CHECK(segments.counters().segments == 1);
    CHECK(std::filesystem::file_size(file_of(directory.path(), "000001.mdb")) == 4);
}

TEST_CASE("the last view of the written segment keeps the directory's lock") {
    const TemporaryDirectory directory;
    Segments fixture(directory.path());
    auto& segments = fixture.open();
    const auto place = must(segments.append(blob_of(1, 10'000)));
    must(segments.commit());
    auto view = must(segments.map(place));
    fixture.close();
    CHECK(error_of(DirectoryLock::acquire(directory.path())).code == Errc::busy);
    CHECK(same_bytes(view, blob_of(1, 10'000)));
    view = {};
    CHECK(DirectoryLock::acquire(directory.path()).has_value());
}
