// SPDX-License-Identifier: MIT
#include "primitives/block.hpp"

#include "base/hex.hpp"
#include "primitives/merkle.hpp"
#include "unit/primitives/vectors.hpp"

#include <doctest/doctest.h>

using namespace blockpub;

TEST_SUITE_BEGIN("primitives.block");

TEST_CASE("block 170 has its hash, txids, merkle root and sizes") {
    const auto block = ParsedBlock::parse(vectors::block170());
    REQUIRE(block);
    CHECK(block->hash().display_hex() == "00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee");
    REQUIRE(block->transactions().size() == 2);
    CHECK(block->transactions()[0].txid.display_hex() ==
          "b1fea52486ce0c62bb442b530a3f0132b826c74e473d1f2c220bfa78111c5082");
    CHECK(block->transactions()[1].txid.display_hex() ==
          "f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16");
    CHECK(block->header().merkle_root.display_hex() ==
          "7dac2c5666815c17a3b36427de37bb9d2e2c5ccec3f8633eb91a4205cb4c10ff");
    CHECK(block_merkle_root(*block).root == block->header().merkle_root.wire_bytes());
    CHECK_FALSE(block_merkle_root(*block).mutated);
    CHECK(block->raw().size() == 490);
    CHECK(block->stripped_size() == 490);
    CHECK(block->weight() == 1960);
    CHECK(block->header().previous.display_hex() ==
          "000000002a22cfee1f2c846adbd12b3e183d4f97683f85dad08a79780a84bd55");
    CHECK(block->header().time == 1231731025);
    CHECK(block->header().bits == 0x1d00ffff);
    CHECK(block->header().nonce == 1889418792);
}
