// SPDX-License-Identifier: MIT
#include "primitives/chain_params.hpp"

#include "base/check.hpp"
#include "base/endian.hpp"
#include "base/hex.hpp"
#include "primitives/genesis.hpp"
#include "primitives/header.hpp"
#include "primitives/sha256.hpp"

namespace blockpub {
namespace {

constexpr std::string_view kFirstMessage =
    "The Times 03/Jan/2009 Chancellor on brink of second bailout for banks";
constexpr std::string_view kFirstKey =
    "04678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384d"
    "f7ba0b8d"
    "578a4c702b6bf11d5f";
constexpr std::string_view kTestnet4Message =
    "03/May/2024 000000000000000000001ebd58c244970b3aa9d783bb001011fbe8ea8e98e00e";
constexpr std::string_view kSignetChallenge =
    "512103ad5e0edad18cb1f0fc0d28a3d4f1f3e445640337489abb10404f2d1e086be430210359ef5021964fe22d6f8e05b2463c95"
    "40ce9688"
    "3fe3b278760f048f5189f2e6c452ae";

std::vector<std::uint8_t> bytes_of(std::string_view hex) {
    auto bytes = decode_hex(hex);
    BLOCKPUB_CHECK(bytes.has_value(), "{}", hex);
    return *std::move(bytes);
}

BlockHash hash_of(std::string_view hex) {
    const auto hash = BlockHash::from_display_hex(hex);
    BLOCKPUB_CHECK(hash.has_value(), "{}", hex);
    return *hash;
}

std::uint32_t magic_of(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
    const std::array<std::uint8_t, 4> wire{a, b, c, d};
    return read_le<std::uint32_t>(wire.data());
}

void set_genesis(ChainParams& params, std::string_view message, ByteSpan key, std::uint32_t time,
                 std::uint32_t bits, std::uint32_t nonce) {
    params.genesis =
        build_genesis({.message = message, .public_key = key, .time = time, .bits = bits, .nonce = nonce});
    params.genesis_hash = hash_header(params.genesis);
}

void set_common_genesis(ChainParams& params, std::uint32_t time, std::uint32_t bits, std::uint32_t nonce) {
    set_genesis(params, kFirstMessage, bytes_of(kFirstKey), time, bits, nonce);
}

// What the four networks for tests have in common.
void set_test_prefixes(ChainParams& params) {
    params.base58_pubkey = 111;
    params.base58_script = 196;
    params.base58_secret = 239;
    params.bech32_prefix = "tb";
}

void set_heights_to_one(ChainParams& params) {
    params.bip34_height = params.bip65_height = params.bip66_height = params.csv_height =
        params.segwit_height = {1};
}

ChainParams make_main() {
    ChainParams params{};
    params.kind = ChainKind::main;
    params.name = "main";
    params.magic = magic_of(0xf9, 0xbe, 0xb4, 0xd9);
    params.p2p_port = 8333;
    params.rpc_port = 8372;
    set_common_genesis(params, 1231006505, 0x1d00ffff, 2083236893);
    params.pow_limit = Uint256::from_hex("00000000ffffffffffffffffffffffffffffffffffffffffffffffffffffffff");
    params.minimum_chainwork = Uint256::from_hex("88e186b70e0862c193ec44d6");
    params.bip34_height = {227931};
    params.bip34_hash = hash_of("000000000000024b89b42a942fe0d9fea3bb44ab7bd1b19115dd6a759c0808b8");
    params.bip65_height = {388381};
    params.bip66_height = {363725};
    params.csv_height = {419328};
    params.segwit_height = {481824};
    params.prune_after_height = 100'000;
    params.base58_pubkey = 0;
    params.base58_script = 5;
    params.base58_secret = 128;
    params.bech32_prefix = "bc";
    return params;
}

ChainParams make_testnet3() {
    ChainParams params{};
    params.kind = ChainKind::testnet3;
    params.name = "test";
    params.directory = "testnet3";
    params.magic = magic_of(0x0b, 0x11, 0x09, 0x07);
    params.p2p_port = 18333;
    params.rpc_port = 18372;
    set_common_genesis(params, 1296688602, 0x1d00ffff, 414098458);
    params.pow_limit = Uint256::from_hex("00000000ffffffffffffffffffffffffffffffffffffffffffffffffffffffff");
    params.minimum_chainwork = Uint256::from_hex("0f209695166be8b61fa9");
    params.allow_min_difficulty = true;
    params.bip34_height = {21111};
    params.bip34_hash = hash_of("0000000023b3a96d3484e5abb3755c413e7d41500f8e2a5c3f0dd01299cd8ef8");
    params.bip65_height = {581885};
    params.bip66_height = {330776};
    params.csv_height = {770112};
    params.segwit_height = {834624};
    set_test_prefixes(params);
    return params;
}

ChainParams make_testnet4() {
    ChainParams params{};
    params.kind = ChainKind::testnet4;
    params.name = "testnet4";
    params.directory = "testnet4";
    params.magic = magic_of(0x1c, 0x16, 0x3f, 0x28);
    params.p2p_port = 48333;
    params.rpc_port = 48372;
    set_genesis(params, kTestnet4Message, std::array<std::uint8_t, 33>{}, 1714777860, 0x1d00ffff, 393743547);
    params.pow_limit = Uint256::from_hex("00000000ffffffffffffffffffffffffffffffffffffffffffffffffffffffff");
    params.minimum_chainwork = Uint256::from_hex("5faa15d02e6202f3ba");
    params.allow_min_difficulty = true;
    params.enforce_bip94 = true;
    set_heights_to_one(params);
    set_test_prefixes(params);
    return params;
}

ChainParams make_signet() {
    ChainParams params{};
    params.kind = ChainKind::signet;
    params.name = "signet";
    params.directory = "signet";
    params.signet_challenge = bytes_of(kSignetChallenge);
    // BIP 325: the magic is the start of the hash of the challenge with its size before it.
    const std::array<std::uint8_t, 1> size{static_cast<std::uint8_t>(params.signet_challenge.size())};
    const std::array<ByteSpan, 2> parts{ByteSpan(size), ByteSpan(params.signet_challenge)};
    params.magic = read_le<std::uint32_t>(sha256d(parts).data());
    params.p2p_port = 38333;
    params.rpc_port = 38372;
    set_common_genesis(params, 1598918400, 0x1e0377ae, 52613770);
    params.pow_limit = Uint256::from_hex("00000377ae000000000000000000000000000000000000000000000000000000");
    params.minimum_chainwork = Uint256::from_hex("025dbd66e58f");
    set_heights_to_one(params);
    set_test_prefixes(params);
    return params;
}

ChainParams make_regtest() {
    ChainParams params{};
    params.kind = ChainKind::regtest;
    params.name = "regtest";
    params.directory = "regtest";
    params.magic = magic_of(0xfa, 0xbf, 0xb5, 0xda);
    params.p2p_port = 18444;
    params.rpc_port = 18483;
    set_common_genesis(params, 1296688602, 0x207fffff, 2);
    params.pow_limit = Uint256::from_hex("7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff");
    params.allow_min_difficulty = true;
    params.no_retargeting = true;
    params.target_timespan = 24 * 60 * 60;
    params.halving_interval = 150;
    set_heights_to_one(params);
    params.segwit_height = {0};
    set_test_prefixes(params);
    params.bech32_prefix = "bcrt";
    return params;
}

}  // namespace

const ChainParams& chain_params(ChainKind kind) {
    switch (kind) {
        case ChainKind::main: {
            static const ChainParams params = make_main();
            return params;
        }
        case ChainKind::testnet3: {
            static const ChainParams params = make_testnet3();
            return params;
        }
        case ChainKind::testnet4: {
            static const ChainParams params = make_testnet4();
            return params;
        }
        case ChainKind::signet: {
            static const ChainParams params = make_signet();
            return params;
        }
        case ChainKind::regtest: {
            static const ChainParams params = make_regtest();
            return params;
        }
    }
    BLOCKPUB_CHECK(false, "chain kind {}", static_cast<int>(kind));
}

std::optional<ChainKind> chain_kind_from_name(std::string_view name) {
    if (name == "main") return ChainKind::main;
    if (name == "test") return ChainKind::testnet3;
    if (name == "testnet4") return ChainKind::testnet4;
    if (name == "signet") return ChainKind::signet;
    if (name == "regtest") return ChainKind::regtest;
    return std::nullopt;
}

}  // namespace blockpub
