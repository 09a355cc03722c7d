// SPDX-License-Identifier: MIT
#include "primitives/coin.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <vector>

using namespace blockpub;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const ByteSpan input(bytes, size);
    ByteReader reader(input);
    const Coin coin = decode_coin(reader);
    if (!reader.ok()) return 0;
    std::vector<std::uint8_t> encoded;
    encode_coin(coin, encoded);
    BLOCKPUB_CHECK(std::ranges::equal(encoded, input.first(reader.position())));
    return 0;
}
