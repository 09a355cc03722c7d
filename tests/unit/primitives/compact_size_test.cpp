// SPDX-License-Identifier: MIT
#include "primitives/compact_size.hpp"

#include "base/hex.hpp"
#include "primitives/reader.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace blockpub;

TEST_SUITE_BEGIN("primitives.compact_size");

TEST_CASE("a compact size is written in its shortest form, as long as was said, and reads back") {
    struct Case {
        std::uint64_t value;
        const char* bytes;
    };
    static constexpr Case kCases[] = {
        {0, "00"},
        {252, "fc"},
        {253, "fdfd00"},
        {0xffff, "fdffff"},
        {0x10000, "fe00000100"},
        {kMaxSerializedSize, "fe00000002"},
        {0xffffffff, "feffffffff"},
        {0x100000000, "ff0000000001000000"},
        {UINT64_MAX, "ffffffffffffffffff"},
    };
    for (const Case& c : kCases) {
        CAPTURE(c.value);
        std::vector<std::uint8_t> out{0xaa};
        blockpub::append_compact_size(out, c.value);
        CHECK(encode_hex(out) == "aa" + std::string(c.bytes));
        CHECK(compact_size_length(c.value) == out.size() - 1);
        if (c.value > kMaxSerializedSize) continue;
        ByteReader reader(out);
        reader.skip(1);
        CHECK(reader.compact_size() == c.value);
        CHECK(reader.ok());
    }
}

TEST_SUITE_END();
