// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/coin_script.hpp"
#include "primitives/reader.hpp"
#include "primitives/script.hpp"
#include "primitives/transaction.hpp"

#include <blockpub/hash.hpp>
#include <blockpub/result.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace blockpub {

/// An output that may still be spent, and where it was made.
/// Thread safety: a value.
struct Coin {
    Amount amount = 0;
    Height height;          ///< of the block that made it
    bool coinbase = false;  ///< made by a coinbase: spendable after 100 more blocks
    CoinScript script;
    friend bool operator==(const Coin&, const Coin&) = default;
};

/// Appends the compact form of a coin: height and coinbase in one number, the amount without its trailing
/// zeros, the common script forms without their opcodes. docs/storage.md has it byte by byte.
void encode_coin(const Coin& coin, std::vector<std::uint8_t>& out);

/// Reads one coin at the reader's position; the reader fails for bytes that encode_coin never writes.
[[nodiscard]] Coin decode_coin(ByteReader& reader);
/// The same into a coin whose script's memory is used again; after a failure it is empty.
void decode_coin(ByteReader& reader, Coin& coin);

/// Whether an output can never be spent, and so makes no coin: OP_RETURN first, or longer than 10,000 bytes.
/// Source: Bitcoin Core v28.1 src/script/script.h, CScript::IsUnspendable.
[[nodiscard]] bool is_unspendable(ByteSpan script);

}  // namespace blockpub

template <>
struct std::hash<blockpub::Outpoint> {
    /// Requires: txids, uniform in their first bytes.
    std::size_t operator()(const blockpub::Outpoint& outpoint) const noexcept {
        return std::hash<blockpub::Txid>{}(outpoint.txid) ^
               (std::size_t{outpoint.position} * 0x9e3779b97f4a7c15);
    }
};

namespace blockpub {

/// The same for containers: without noexcept, libstdc++ keeps the hash beside each key, and neither works it
/// out again nor compares keys that differ in it.
struct OutpointHash {
    std::size_t operator()(const Outpoint& outpoint) const { return std::hash<Outpoint>{}(outpoint); }
};

}  // namespace blockpub
