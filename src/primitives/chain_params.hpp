// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/work.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/hash.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

enum class ChainKind : std::uint8_t { main, testnet3, testnet4, signet, regtest };

/// The rules and numbers that make one Bitcoin network differ from another; constant.
/// Source: Bitcoin Core v28.1 src/kernel/chainparams.cpp.
struct ChainParams {
    ChainKind kind;
    std::string name;       ///< as in getblockchaininfo: main, test, testnet4, signet, regtest
    std::string directory;  ///< under the data directory: empty for main, testnet3, testnet4, signet, regtest
    std::uint32_t magic;    ///< as read little-endian from the wire
    std::uint16_t p2p_port;             ///< bitcoind's
    std::uint16_t rpc_port;             ///< ours: 8372, 18372, 48372, 38372, 18483
    std::vector<std::uint8_t> genesis;  ///< the serialized block
    BlockHash genesis_hash;
    Uint256 pow_limit;
    Uint256 minimum_chainwork;
    bool allow_min_difficulty = false;  ///< testnet's 20-minute rule
    bool enforce_bip94 = false;         ///< testnet4's rules
    bool no_retargeting = false;
    std::int64_t target_timespan = 14 * 24 * 60 * 60;
    std::int64_t target_spacing = 10 * 60;
    std::uint32_t halving_interval = 210'000;
    Height bip34_height;
    BlockHash bip34_hash;
    Height bip65_height;
    Height bip66_height;
    Height csv_height;
    Height segwit_height;
    std::uint32_t prune_after_height = 1'000;  ///< nothing is pruned while the chain is shorter
    std::vector<std::uint8_t> signet_challenge;
    std::uint8_t base58_pubkey;
    std::uint8_t base58_script;
    std::uint8_t base58_secret;
    std::string bech32_prefix;

    [[nodiscard]] std::int64_t retarget_interval() const { return target_timespan / target_spacing; }
};

/// The parameters of one network; lives for ever.
[[nodiscard]] const ChainParams& chain_params(ChainKind kind);
/// By `-chain=` name: main, test, testnet4, signet, regtest. Nothing for others.
[[nodiscard]] std::optional<ChainKind> chain_kind_from_name(std::string_view name);

}  // namespace blockpub
