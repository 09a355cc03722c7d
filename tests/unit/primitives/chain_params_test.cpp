// SPDX-License-Identifier: MIT
#include "primitives/chain_params.hpp"

#include "base/hex.hpp"
#include "primitives/block.hpp"
#include "primitives/merkle.hpp"

#include <doctest/doctest.h>

#include <array>
#include <set>
#include <string>

using namespace blockpub;

TEST_SUITE_BEGIN("primitives.chain_params");

namespace {

constexpr std::array kAllChains{ChainKind::main, ChainKind::testnet3, ChainKind::testnet4, ChainKind::signet,
                                ChainKind::regtest};

ParsedBlock genesis_of(ChainKind kind) {
    auto block = ParsedBlock::parse(SharedBytes::copy_of(chain_params(kind).genesis));
    REQUIRE(block);
    return *std::move(block);
}

}  // namespace

TEST_CASE("the genesis block of every chain has its known hash, merkle root and proof of work") {
    struct Case {
        const char* name;
        ChainKind kind;
        const char* hash;
        const char* merkle_root;
    };
    static constexpr const char* kCommonRoot =
        "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b";
    static constexpr Case kCases[] = {
        {"main", ChainKind::main, "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f",
         kCommonRoot},
        {"test", ChainKind::testnet3, "000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943",
         kCommonRoot},
        {"testnet4", ChainKind::testnet4, "00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043",
         "7aa0a7ae1e223414cb807e40cd57e667b718e42aaf9306db9102fe28912b7b4e"},
        {"signet", ChainKind::signet, "00000008819873e925422c1ff0f99f7cc9bbb232af63a077a480a3633bee1ef6",
         kCommonRoot},
        {"regtest", ChainKind::regtest, "0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206",
         kCommonRoot},
    };
    for (const Case& c : kCases) {
        SUBCASE(c.name) {
            const ChainParams& params = chain_params(c.kind);
            const ParsedBlock block = genesis_of(c.kind);
            CHECK(params.kind == c.kind);
            CHECK(params.name == c.name);
            CHECK(params.genesis_hash.display_hex() == c.hash);
            CHECK(block.hash() == params.genesis_hash);
            CHECK(block.header().merkle_root.display_hex() == c.merkle_root);
            CHECK(block.header().merkle_root.wire_bytes() == block_merkle_root(block).root);
            CHECK(block.transactions().size() == 1);
            CHECK(block.transaction(0).is_coinbase());
            CHECK(meets_proof_of_work(block.hash(), block.header().bits, params.pow_limit));
        }
    }
}

TEST_CASE("the serialized mainnet genesis is the known 285 bytes") {
    const ChainParams& params = chain_params(ChainKind::main);
    CHECK(params.genesis.size() == 285);
    CHECK(encode_hex(ByteSpan(params.genesis).subspan(81)) ==
          "01000000010000000000000000000000000000000000000000000000000000000000000000ffffffff4d04ffff001d0104"
          "4554686520"
          "54696d65732030332f4a616e2f32303039204368616e63656c6c6f72206f6e206272696e6b206f66207365636f6e642062"
          "61696c6f75"
          "7420666f722062616e6b73ffffffff0100f2052a01000000434104678afdb0fe5548271967f1a67130b7105cd6a828e039"
          "09a67962e0"
          "ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5fac00000000");
}

TEST_CASE("every magic is the one on the wire") {
    CHECK(chain_params(ChainKind::main).magic == 0xd9b4bef9);
    CHECK(chain_params(ChainKind::testnet3).magic == 0x0709110b);
    CHECK(chain_params(ChainKind::testnet4).magic == 0x283f161c);
    CHECK(chain_params(ChainKind::signet).magic == 0x40cf030a);
    CHECK(chain_params(ChainKind::regtest).magic == 0xdab5bffa);
}

TEST_CASE("minimum chainwork is that of release 28.1") {
    const auto work = [](ChainKind kind) { return chain_params(kind).minimum_chainwork.hex(); };
    CHECK(work(ChainKind::main) == "000000000000000000000000000000000000000088e186b70e0862c193ec44d6");
    CHECK(work(ChainKind::testnet3) == "000000000000000000000000000000000000000000000f209695166be8b61fa9");
    CHECK(work(ChainKind::testnet4) == "00000000000000000000000000000000000000000000005faa15d02e6202f3ba");
    CHECK(work(ChainKind::signet) == "0000000000000000000000000000000000000000000000000000025dbd66e58f");
    CHECK(chain_params(ChainKind::regtest).minimum_chainwork.is_zero());
}

TEST_CASE("names lead to their chain and nothing else does") {
    for (const ChainKind kind : kAllChains) CHECK(chain_kind_from_name(chain_params(kind).name) == kind);
    CHECK_FALSE(chain_kind_from_name(""));
    CHECK_FALSE(chain_kind_from_name("testnet3"));
    CHECK_FALSE(chain_kind_from_name("Main"));
}

TEST_CASE("no two chains share a magic, a port, a directory or a genesis block") {
    std::set<std::uint32_t> magics;
    std::set<std::uint16_t> ports;
    std::set<std::string> directories;
    std::set<BlockHash> hashes;
    for (const ChainKind kind : kAllChains) {
        const ChainParams& params = chain_params(kind);
        magics.insert(params.magic);
        ports.insert(params.p2p_port);
        ports.insert(params.rpc_port);
        directories.insert(params.directory);
        hashes.insert(params.genesis_hash);
    }
    CHECK(magics.size() == kAllChains.size());
    CHECK(ports.size() == 2 * kAllChains.size());
    CHECK(directories.size() == kAllChains.size());
    CHECK(hashes.size() == kAllChains.size());
}
