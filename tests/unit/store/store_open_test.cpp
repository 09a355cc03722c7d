// SPDX-License-Identifier: MIT
#include "store/lmdb.hpp"
#include "store/records.hpp"
#include "unit/store/store_fixture.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE_BEGIN("store.open");

namespace {

void fill(const StoreOptions& options) {
    auto store = open_store(options);
    for (std::uint32_t height = 0; height < 3; ++height) {
        store->apply(step(height, height, must(store->append_blob(blob_of(height, 5000)))));
    }
    must(store->commit());
}

void put_meta(const std::filesystem::path& directory, const char* key, const RecordBytes& value) {
    const auto env =
        must(lmdb::Env::open({.path = directory / "chain", .map_bytes = 1 << 30, .max_tables = 16}));
    auto [code, txn] = lmdb::Txn::begin(env.ref(), 0);
    lmdb::Table meta;
    REQUIRE(code == 0);
    REQUIRE(txn.open_table("meta", 0, meta) == 0);
    REQUIRE(txn.put(meta, lmdb::as_bytes(key), value) == 0);
    REQUIRE(txn.commit() == 0);
}

bool names(const Error& error, std::string_view what) {
    return error.context.find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("a second store on the same directory is refused, by whatever path") {
    const TemporaryDirectory directory;
    const auto options = options_for(directory.path() / "store");
    auto store = open_store(options);
    std::filesystem::create_directory_symlink(options.directory, directory.path() / "alias");
    for (const char* name : {"store", "alias", "./alias/../store"}) {
        CAPTURE(name);
        const auto error = error_of(Store::open(options_for(directory.path() / name)));
        CHECK(error.code == Errc::busy);
        CHECK(names(error, (directory.path() / name).native()));
    }
    store.reset();
    CHECK(Store::open(options_for(directory.path() / "alias")).has_value());
}

TEST_CASE("a second process is refused until the first is gone") {
    const TemporaryDirectory directory;
    const auto options = options_for(directory.path());
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        auto store = Store::open(options);
        const char answer = store ? 'y' : 'n';
        if (::write(ready[1], &answer, 1) != 1) ::_exit(1);
        for (;;) ::pause();
    }
    char answer = 0;
    REQUIRE(::read(ready[0], &answer, 1) == 1);
    CHECK(answer == 'y');
    CHECK(error_of(Store::open(options)).code == Errc::busy);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    CHECK(Store::open(options).has_value());
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST_CASE("a store of a newer schema is refused and left as it is") {
    const TemporaryDirectory directory;
    const auto options = options_for(directory.path());
    fill(options);
    put_meta(directory.path(), kMetaSchema, encode_schema(kSchemaVersion + 1));
    for (int attempt = 0; attempt < 2; ++attempt) {
        const auto error = error_of(Store::open(options));
        CHECK(error.code == Errc::unsupported);
        CHECK(names(error, directory.path().native()));
        CHECK(names(error, "newer"));
    }
    put_meta(directory.path(), kMetaSchema, encode_schema(kSchemaVersion));
    CHECK(must(must(open_store(options)->snapshot()).tip()).height == Height{2});
}

TEST_CASE("another chain's store is refused") {
    const TemporaryDirectory directory;
    fill(options_for(directory.path()));
    auto options = options_for(directory.path());
    SUBCASE("by its magic") {
        options.network_magic += 1;
    }
    SUBCASE("by its genesis") {
        options.genesis_hash = hash_of(1234);
    }
    const auto error = error_of(Store::open(options));
    CHECK(error.code == Errc::invalid_argument);
    CHECK(names(error, "another chain"));
    CHECK(names(error, directory.path().native()));
}

TEST_CASE("damage of the chain tables is named") {
    const TemporaryDirectory directory;
    const auto options = options_for(directory.path());
    fill(options);
    const auto file = directory.path() / "chain" / "data.mdb";
    SUBCASE("cut short") {
        std::filesystem::resize_file(file, 12'000);
    }
    SUBCASE("no meta page") {
        std::filesystem::resize_file(file, 100);
    }
    SUBCASE("overwritten") {
        std::fstream(file, std::ios::in | std::ios::out | std::ios::binary) << std::string(9000, 'x');
    }
    SUBCASE("a schema version of five bytes") {
        put_meta(directory.path(), kMetaSchema, RecordBytes(5));
    }
    SUBCASE("a network record of no bytes") {
        put_meta(directory.path(), kMetaNetwork, {});
    }
    SUBCASE("an end of blobs of three bytes") {
        put_meta(directory.path(), kMetaBlobEnd, RecordBytes(3));
    }
    const auto error = error_of(Store::open(options));
    CHECK(error.code == Errc::corrupt);
    CHECK(names(error, (directory.path() / "chain").native()));
}

TEST_CASE("block files that lack what the chain tables name are refused") {
    const TemporaryDirectory directory;
    const auto options = options_for(directory.path());
    fill(options);
    std::filesystem::remove_all(directory.path() / "blocks");
    const auto error = error_of(Store::open(options));
    CHECK(error.code == Errc::corrupt);
    CHECK(names(error, "00000.mdb"));
}

TEST_CASE("chain tables that are gone while their blocks are there are not made anew") {
    struct Case {
        const char* name;
        void (*lose)(const std::filesystem::path& chain);
    };
    constexpr Case kCases[] = {
        {"the directory", [](const auto& chain) { std::filesystem::remove_all(chain); }},
        {"the file", [](const auto& chain) { std::filesystem::remove(chain / "data.mdb"); }},
        {"the file's bytes", [](const auto& chain) { std::filesystem::resize_file(chain / "data.mdb", 0); }},
    };
    for (const Case& c : kCases) {
        CAPTURE(c.name);
        const TemporaryDirectory directory;
        const auto options = options_for(directory.path());
        fill(options);
        c.lose(directory.path() / "chain");
        for (int attempt = 0; attempt < 2; ++attempt) {
            const auto error = error_of(Store::open(options));
            CHECK(error.code == Errc::corrupt);
            CHECK(names(error, "restore it from a backup"));
        }
    }
}

TEST_CASE("a store whose making was cut off by a power cut is made anew") {
    for (const std::size_t size : {0, 100, 8192, 20'000}) {
        CAPTURE(size);
        const TemporaryDirectory directory;
        std::filesystem::create_directories(directory.path() / "chain");
        std::ofstream(directory.path() / "chain" / "data.mdb", std::ios::binary) << std::string(size, '\0');
        const auto options = options_for(directory.path());
        fill(options);
        CHECK(must(must(open_store(options)->snapshot()).tip()).height == Height{2});
    }
}

TEST_CASE("sizes of segments beyond the limits, and directories that cannot be made, are refused") {
    const TemporaryDirectory directory;
    auto options = options_for(directory.path());
    options.segment_bytes = (std::uint64_t{16} << 20) - 1;
    CHECK(error_of(Store::open(options)).code == Errc::invalid_argument);
    options.segment_bytes = (std::uint64_t{4} << 30) + 1;
    CHECK(error_of(Store::open(options)).code == Errc::invalid_argument);
    std::ofstream(directory.path() / "file") << "text";
    options = options_for(directory.path() / "file" / "store");
    CHECK(error_of(Store::open(options)).code == Errc::io);
}

TEST_CASE("a store that was made with segments of another size goes on") {
    const TemporaryDirectory directory;
    auto options = options_for(directory.path());
    options.segment_bytes = std::uint64_t{32} << 20;
    std::vector<BlobPlace> places;
    {
        auto store = open_store(options);
        for (std::uint64_t i = 0; i < 6; ++i)
            places.push_back(must(store->append_blob(blob_of(i, 3'900'000))));
        must(store->commit());
    }
    options.segment_bytes = std::uint64_t{16} << 20;  // less than is used
    auto store = open_store(options);
    places.push_back(must(store->append_blob(blob_of(6, 3'900'000))));
    must(store->commit());
    CHECK(places.back() == BlobPlace{1, 0, 3'900'000});
    for (std::uint64_t i = 0; i < places.size(); ++i) {
        CHECK(same_bytes(must(store->read_blob(places[i])), blob_of(i, 3'900'000)));
    }
}
