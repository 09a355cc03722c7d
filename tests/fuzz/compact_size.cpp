// SPDX-License-Identifier: MIT
#include "base/check.hpp"
#include "primitives/reader.hpp"
#include "support/block_builder.hpp"

using namespace blockpub;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const ByteSpan input(bytes, size);
    ByteReader reader(input);
    const std::uint64_t value = reader.compact_size();
    if (!reader.ok()) {
        BLOCKPUB_CHECK(value == 0 && reader.take(0).empty());
        return 0;
    }
    BLOCKPUB_CHECK(value <= kMaxSerializedSize, "{}", value);
    test::Bytes encoded;
    test::append_compact_size(encoded, value);
    BLOCKPUB_CHECK(std::ranges::equal(encoded, input.first(reader.position())), "{}", value);
    const ByteSpan taken = reader.take(value);
    BLOCKPUB_CHECK(reader.ok() == (value <= size - encoded.size()), "{} of {}", value, size);
    BLOCKPUB_CHECK(!reader.ok() || taken.size() == value);
    return 0;
}
