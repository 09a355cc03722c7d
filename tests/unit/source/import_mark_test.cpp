// SPDX-License-Identifier: MIT
#include "source/import_mark.hpp"

#include "unit/source/block_file_bytes.hpp"

#include <doctest/doctest.h>

using namespace blockpub;
using namespace blockpub::test;

namespace {

Bytes pattern(std::size_t size, unsigned seed = 1) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>((i * 31 + seed) >> 3);
    return bytes;
}

std::uint64_t offset_after(const TempDirectory& directory, const Bytes& before, std::uint64_t marked,
                           const Bytes& after, const char* name_after = "blk00000.dat") {
    directory.write("blk00000.dat", before);
    const auto mark =
        make_import_mark(File::open_for_reading(directory.path() / "blk00000.dat").value(), marked);
    REQUIRE(mark);
    directory.write(name_after, after);
    const auto file = File::open_for_reading(directory.path() / name_after);
    REQUIRE(file);
    if (import_mark_key(*file).value() != mark->key) return 0;
    return import_mark_offset(*file, mark->value).value();
}

}  // namespace

TEST_SUITE("source.import_mark") {
    TEST_CASE("a mark holds for the same file and for one that has grown, and for no other") {
        const TempDirectory directory;
        const Bytes file = pattern(20'000);
        Bytes grown = file;
        append(grown, pattern(500, 9));
        Bytes head_changed = file;
        head_changed[10] ^= 1;
        Bytes tail_changed = file;
        tail_changed[14'999] ^= 1;
        CHECK(offset_after(directory, file, 15'000, file) == 15'000);
        CHECK(offset_after(directory, file, 20'000, grown) == 20'000);
        CHECK(offset_after(directory, file, 15'000, head_changed) == 0);
        CHECK(offset_after(directory, file, 15'000, tail_changed) == 0);
        CHECK(offset_after(directory, file, 15'000, cut(file, 14'999)) == 0);
        CHECK(offset_after(directory, file, 15'000, {}) == 0);
        CHECK(offset_after(directory, file, 15'000, file, "blk00001.dat") == 0);
    }

    TEST_CASE("short files have marks too") {
        const TempDirectory directory;
        CHECK(offset_after(directory, pattern(5), 5, pattern(5)) == 5);
        CHECK(offset_after(directory, pattern(5), 5, pattern(5, 77)) == 0);
        CHECK(offset_after(directory, {}, 0, {}) == 0);
    }

    TEST_CASE("a senseless value means: from the beginning") {
        const TempDirectory directory;
        const auto file = File::open_for_reading(directory.write("f", pattern(100)));
        REQUIRE(file);
        for (const char* value : {"", "x", "100", "100 ", "-1 aa", "99999999999999999999999 aa", "100 zz"}) {
            CHECK(import_mark_offset(*file, value).value() == 0);
        }
    }
}
