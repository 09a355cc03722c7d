// SPDX-License-Identifier: MIT
#include "primitives/header.hpp"

#include "base/check.hpp"

#include <algorithm>

using namespace blockpub;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size < BlockHeader::kSize) return 0;
    const ByteSpan input(bytes, size);
    const BlockHeader header = BlockHeader::decode(input);
    const auto encoded = header.encode();
    BLOCKPUB_CHECK(std::ranges::equal(encoded, input.first(BlockHeader::kSize)));
    BLOCKPUB_CHECK(header.hash() == hash_header(input));
    BLOCKPUB_CHECK(BlockHash::from_display_hex(header.hash().display_hex()) == header.hash());
    return 0;
}
