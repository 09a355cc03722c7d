// SPDX-License-Identifier: MIT
#include "primitives/address.hpp"

#include "base/hex.hpp"
#include "primitives/base58.hpp"
#include "primitives/bech32.hpp"
#include "unit/primitives/params.hpp"
#include "unit/primitives/vectors.hpp"

#include <doctest/doctest.h>

#include <random>
#include <sstream>

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE_BEGIN("primitives.address");

namespace {}  // namespace

TEST_CASE("scripts of a node's chain have the node's addresses, and addresses lead back to their script") {
    std::istringstream lines(vectors::read_file(vectors::directory() / "scripts.txt"));
    int with_address = 0;
    std::string script_hex, type, address, descriptor;
    while (lines >> script_hex >> type >> address >> descriptor) {
        CAPTURE(script_hex);
        const auto script = decode_hex(script_hex == "-" ? "" : script_hex);
        REQUIRE(script);
        const auto encoded = script_to_address(*script, kRegtest);
        CHECK(encoded.value_or("-") == address);
        if (address == "-") continue;
        ++with_address;
        const auto decoded = address_to_script(address, kRegtest);
        REQUIRE(decoded);
        CHECK(*decoded == *script);
    }
    CHECK(with_address > 20);
}

// The valid addresses of BIP 173 and BIP 350, and of Core's key_io tests.
TEST_CASE("known addresses have their script") {
    struct Case {
        const char* address;
        const ChainParams& params;
        const char* script;
        const char* canonical;  // null: the address itself
    };
    const Case cases[] = {
        {"BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4", kMain, "0014751e76e8199196d454941c45d1b3a323f1433bd6",
         "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"},
        {"tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7", kTestnet3,
         "00201863143c14c5166804bd19203356da136c985678cd4d27a1b8c6329604903262", nullptr},
        {"bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kt5nd6y", kMain,
         "5128751e76e8199196d454941c45d1b3a323f1433bd6751e76e8199196d454941c45d1b3a323f1433bd6", nullptr},
        {"BC1SW50QGDZ25J", kMain, "6002751e", "bc1sw50qgdz25j"},
        {"bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs", kMain, "5210751e76e8199196d454941c45d1b3a323", nullptr},
        {"tb1qqqqqp399et2xygdj5xreqhjjvcmzhxw4aywxecjdzew6hylgvsesrxh6hy", kTestnet3,
         "0020000000c4a5cad46221b2a187905e5266362b99d5e91c6ce24d165dab93e86433", nullptr},
        {"bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0", kMain,
         "512079be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798", nullptr},
        {"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", kMain, "76a91462e907b15cbf27d5425399ebf6f0fb50ebb88f1888ac",
         nullptr},
        {"3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy", kMain, "a914b472a266d0bd89c13706a4132ccfb16f7c3b9fcb87",
         nullptr},
        {"1111111111111111111114oLvT2", kMain, "76a914000000000000000000000000000000000000000088ac", nullptr},
        {"  1111111111111111111114oLvT2\t", kMain, "76a914000000000000000000000000000000000000000088ac",
         "1111111111111111111114oLvT2"},
    };
    for (const Case& c : cases) {
        CAPTURE(c.address);
        const auto script = address_to_script(c.address, c.params);
        REQUIRE(script);
        CHECK(encode_hex(*script) == c.script);
        CHECK(script_to_address(*script, c.params) == (c.canonical != nullptr ? c.canonical : c.address));
    }
}

TEST_CASE("wrong addresses are refused in Core's words") {
    struct Case {
        const char* name;
        const char* address;
        const ChainParams& params;
        const char* error;
    };
    const Case cases[] = {
        {"nothing", "", kMain, "Invalid checksum or length of Base58 address (P2PKH or P2SH)"},
        {"prefix alone", "bc1", kMain, "Invalid separator position"},
        {"another chain's prefix", "tc1qw508d6qejxtdg4y5r3zarvary0c5xw7kg3g4ty", kMain,
         "Invalid or unsupported Segwit (Bech32) or Base58 encoding."},
        {"regtest on testnet", "bcrt1pfeesnyr2tx", kMain,
         "Invalid or unsupported prefix for Segwit (Bech32) address (expected bc, got bcrt)."},
        {"wrong checksum, version 0", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5", kMain,
         "Invalid Bech32 checksum"},
        {"a last character that ends the prefix",
         "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj1", kMain,
         "Invalid separator position"},
        {"a character that bech32 does not have",
         "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jjb", kMain,
         "Invalid Base 32 character"},
        {"wrong checksum, version 1", "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jjq", kMain,
         "Invalid Bech32m checksum"},
        {"version 1 with bech32", "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd", kMain,
         "Version 1+ witness address must use Bech32m checksum"},
        {"version 0 with bech32m", "tb1q0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq24jc47",
         kTestnet3, "Version 0 witness address must use Bech32 checksum"},
        {"version 17", "BC130XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ7ZWS8R", kMain,
         "Invalid Bech32 address witness version"},
        {"program of one byte", "bc1pw5dgrnzv", kMain, "Invalid Bech32 address program size (1 byte)"},
        {"program of 41 bytes",
         "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v8n0nx0muaewav253zgeav", kMain,
         "Invalid Bech32 address program size (41 bytes)"},
        {"version 0 of 16 bytes", "BC1QR508D6QEJXTDG4Y5R3ZARVARYV98GJ9P", kMain,
         "Invalid Bech32 v0 address program size (16 bytes), per BIP141"},
        {"mixed case", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3T4", kMain,
         "Invalid character or mixed case"},
        {"more than four bits of padding", "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v07qwwzcrf",
         kMain, "Invalid padding in Bech32 data section"},
        {"padding that is not zero", "tb1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vpggkg4j",
         kTestnet3, "Invalid padding in Bech32 data section"},
        {"no data", "bc1gmk9yu", kMain, "Empty Bech32 data section"},
        {"91 characters",
         "bc1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq",
         kMain, "Bech32 string too long"},
        {"without a separator", "bcqqqqqqqqqq", kMain, "Missing separator"},
        {"wrong base58 checksum", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb", kMain,
         "Invalid checksum or length of Base58 address (P2PKH or P2SH)"},
        {"digit that base58 does not have", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfN0", kMain,
         "Invalid or unsupported Segwit (Bech32) or Base58 encoding."},
        {"another chain's base58", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", kTestnet3,
         "Invalid or unsupported Base58-encoded address."},
        {"a secret key", "5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ", kMain,
         "Invalid checksum or length of Base58 address (P2PKH or P2SH)"},
    };
    for (const Case& c : cases) {
        SUBCASE(c.name) {
            const auto script = address_to_script(c.address, c.params);
            REQUIRE_FALSE(script);
            CHECK(script.error().code == Errc::invalid_argument);
            CHECK(script.error().context == c.error);
        }
    }
}

TEST_CASE("a base58 payload of the right version and the wrong length is refused") {
    for (const std::size_t size : {0u, 1u, 19u}) {
        std::vector<std::uint8_t> payload(1 + size);
        const auto script = address_to_script(encode_base58check(payload), kMain);
        REQUIRE_FALSE(script);
        CHECK(script.error().context == "Invalid length for Base58 address (P2PKH or P2SH)");
    }
    CHECK_FALSE(address_to_script(encode_base58check(std::vector<std::uint8_t>(22)), kMain));
}

TEST_CASE("base58check gives back every payload, and any changed digit is noticed") {
    const std::uint32_t seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937 random(seed);
    for (int round = 0; round < 300; ++round) {
        std::vector<std::uint8_t> payload(random() % 40);
        for (std::uint8_t& byte : payload) byte = random() % 3 == 0 ? 0 : static_cast<std::uint8_t>(random());
        std::string text = encode_base58check(payload);
        CHECK(decode_base58check(text, 40) == payload);
        if (!payload.empty()) CHECK_FALSE(decode_base58check(text, payload.size() - 1));
        char& digit = text[random() % text.size()];
        digit = digit == '7' ? '8' : '7';
        CHECK_FALSE(decode_base58check(text, 40));
    }
}

TEST_CASE("bech32 gives back every program, and up to four changed characters are noticed") {
    const std::uint32_t seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937 random(seed);
    for (int round = 0; round < 300; ++round) {
        const unsigned version = random() % 17;
        std::vector<std::uint8_t> program(version == 0 ? 20 + 12 * (random() % 2) : 2 + random() % 39);
        for (std::uint8_t& byte : program) byte = static_cast<std::uint8_t>(random());
        const Script script = pay_to_witness(version, program);
        const auto address = script_to_address(script, kMain);
        REQUIRE(address);
        const auto decoded = address_to_script(*address, kMain);
        REQUIRE(decoded);
        CHECK(*decoded == script);
        std::string changed = *address;
        for (unsigned i = 0; i < 1 + random() % 4; ++i) {
            changed[3 + random() % (changed.size() - 3)] = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"[random() % 32];
        }
        if (changed != *address) CHECK_FALSE(address_to_script(changed, kMain));
    }
}

TEST_CASE("scripts that have no address") {
    for (const char* hex :
         {"", "51", "5100", "510151", "00130102030405060708090a0b0c0d0e0f10111213", "6a0102", "4f02abcd",
          "5102abcdef", "6102abcd", "76a914000000000000000000000000000000000000000088ad",
          "a914000000000000000000000000000000000000000088"}) {
        CAPTURE(hex);
        CHECK_FALSE(script_to_address(*decode_hex(hex), kMain));
    }
    CHECK_FALSE(script_to_address(*decode_hex("5129" + std::string(82, '0')), kMain));
}
