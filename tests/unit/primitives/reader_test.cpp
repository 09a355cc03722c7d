// SPDX-License-Identifier: MIT
#include "primitives/reader.hpp"

#include "base/hex.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace blockpub;

TEST_SUITE_BEGIN("primitives.reader");

TEST_CASE("compact sizes are taken in their shortest form only, and up to 32 MiB") {
    struct Case {
        const char* name;
        const char* hex;
        bool taken;
        std::uint64_t value;
    };
    static constexpr Case kCases[] = {
        {"zero", "00", true, 0},
        {"252", "fc", true, 252},
        {"253", "fdfd00", true, 253},
        {"65535", "fdffff", true, 65535},
        {"65536", "fe00000100", true, 65536},
        {"the largest", "fe00000002", true, 0x02000000},
        {"one more", "fe01000002", false, 0},
        {"252 in three bytes", "fdfc00", false, 0},
        {"65535 in five bytes", "feffff0000", false, 0},
        {"1 in nine bytes", "ff0100000000000000", false, 0},
        {"2^32 - 1 in nine bytes", "ffffffffff00000000", false, 0},
        {"2^32", "ff0000000001000000", false, 0},
        {"2^64 - 1", "ffffffffffffffffff", false, 0},
        {"nothing", "", false, 0},
        {"cut in the middle of two bytes", "fdfd", false, 0},
        {"cut in the middle of eight bytes", "ff00000000010000", false, 0},
    };
    for (const Case& c : kCases) {
        SUBCASE(c.name) {
            const auto bytes = decode_hex(c.hex);
            REQUIRE(bytes);
            ByteReader reader{ByteSpan(*bytes)};
            CHECK(reader.compact_size() == c.value);
            CHECK(reader.ok() == c.taken);
            if (c.taken) CHECK(reader.remaining() == 0);
        }
    }
}

TEST_CASE("a read beyond the end fails, gives nothing, and every later read fails too") {
    const std::vector<std::uint8_t> bytes{1, 2, 3, 4, 5};
    ByteReader reader{ByteSpan(bytes)};
    CHECK(reader.le<std::uint16_t>() == 0x0201);
    CHECK(reader.rest().size() == 3);
    CHECK(reader.take(4).empty());
    CHECK_FALSE(reader.ok());
    CHECK(reader.position() == 2);
    CHECK(reader.le<std::uint8_t>() == 0);
    CHECK(reader.compact_size() == 0);
    CHECK(reader.take(0).empty());
    CHECK_FALSE(reader.ok());
    CHECK(reader.position() == 2);
}

TEST_CASE("a size of 2^64 - 1 does not wrap around the end") {
    const std::vector<std::uint8_t> bytes(16);
    ByteReader reader{ByteSpan(bytes)};
    reader.skip(8);
    CHECK(reader.take(0xffffffffffffffff).empty());
    CHECK_FALSE(reader.ok());
}
