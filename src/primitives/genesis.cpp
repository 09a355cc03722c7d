// SPDX-License-Identifier: MIT
#include "primitives/genesis.hpp"

#include "base/endian.hpp"
#include "primitives/header.hpp"
#include "primitives/opcodes.hpp"
#include "primitives/script.hpp"
#include "primitives/sha256.hpp"
#include "primitives/transaction.hpp"

#include <array>

namespace blockpub {
namespace {

// The first number in every genesis coinbase is the mainnet's bits, on the other networks too.
constexpr std::int64_t kCoinbaseBits = 0x1d00ffff;

template <std::integral T>
void append_le(std::vector<std::uint8_t>& out, T value) {
    std::array<std::uint8_t, sizeof(T)> bytes;
    write_le(bytes.data(), value);
    out.insert(out.end(), bytes.begin(), bytes.end());
}

// Both scripts are shorter than 253 bytes: their size is one byte.
void append_script(std::vector<std::uint8_t>& out, const Script& script) {
    out.push_back(static_cast<std::uint8_t>(script.size()));
    out.insert(out.end(), script.begin(), script.end());
}

std::vector<std::uint8_t> build_coinbase(const GenesisFacts& facts) {
    Script input;
    push_number(input, kCoinbaseBits);
    // A push of the byte 4, where a script number would today be OP_4.
    push_data(input, std::array<std::uint8_t, 1>{4});
    push_data(input,
              ByteSpan(reinterpret_cast<const std::uint8_t*>(facts.message.data()), facts.message.size()));
    Script output;
    push_data(output, facts.public_key);
    output.push_back(kOpCheckSig);

    std::vector<std::uint8_t> out;
    append_le(out, std::int32_t{1});
    out.push_back(1);
    out.insert(out.end(), 32, 0);
    append_le(out, std::uint32_t{0xffffffff});
    append_script(out, input);
    append_le(out, std::uint32_t{0xffffffff});
    out.push_back(1);
    append_le(out, 50 * kCoin);
    append_script(out, output);
    append_le(out, std::uint32_t{0});
    return out;
}

}  // namespace

std::vector<std::uint8_t> build_genesis(const GenesisFacts& facts) {
    const std::vector<std::uint8_t> coinbase = build_coinbase(facts);
    BlockHeader header;
    header.version = 1;
    header.merkle_root = MerkleRoot(sha256d(coinbase));
    header.time = facts.time;
    header.bits = facts.bits;
    header.nonce = facts.nonce;
    const auto encoded = header.encode();
    std::vector<std::uint8_t> block(encoded.begin(), encoded.end());
    block.push_back(1);
    block.insert(block.end(), coinbase.begin(), coinbase.end());
    return block;
}

}  // namespace blockpub
