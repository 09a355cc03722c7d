// SPDX-License-Identifier: MIT
#include "chain/submitted_block.hpp"

#include "base/check.hpp"
#include "primitives/merkle.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace blockpub {
namespace {

constexpr std::size_t kTransactionVersionSize = 4;
constexpr std::size_t kLockTimeSize = 4;
constexpr std::uint8_t kMarkerAndFlag[] = {0, 1};
constexpr std::size_t kReservedSize = 32;

}  // namespace

Result<ParsedBlock> decode_submitted_block(SharedBytes raw) {
    auto block = ParsedBlock::parse_front(raw);
    // A buffer of its own: what is stored and announced must not keep the rest alive.
    if (block && block->raw().size() != raw.size()) {
        block = ParsedBlock::parse(SharedBytes::copy_of(block->raw().bytes()));
    }
    if (!block) return fail(Errc::corrupt, "Block decode failed");
    if (block->transactions().empty() || !block->transaction(0).is_coinbase()) {
        return fail(Errc::corrupt, "Block does not start with a coinbase");
    }
    return block;
}

std::optional<ParsedBlock> complete_coinbase_witness(const ParsedBlock& block) {
    const TransactionView coinbase = block.transaction(0);
    if (coinbase.has_witness() || !witness_commitment_output(coinbase)) return std::nullopt;
    const ByteSpan raw = block.raw().bytes();
    const std::size_t begin = block.transactions().front().offset;
    const std::size_t inputs = begin + kTransactionVersionSize;
    const std::size_t lock_time = begin + block.transactions().front().size - kLockTimeSize;
    // One stack (there is one input) of one item.
    constexpr std::size_t kWitnessSize = 1 + 1 + kReservedSize;
    SharedBytes completed = SharedBytes::build(
        raw.size() + sizeof kMarkerAndFlag + kWitnessSize, [&](std::span<std::uint8_t> out) {
            std::uint8_t* at = out.data();
            const auto put = [&](ByteSpan bytes) { at = std::copy(bytes.begin(), bytes.end(), at); };
            put(raw.first(inputs));
            put(kMarkerAndFlag);
            put(raw.subspan(inputs, lock_time - inputs));
            std::uint8_t witness[kWitnessSize] = {1, kReservedSize};
            put(witness);
            put(raw.subspan(lock_time));
        });
    auto parsed = ParsedBlock::parse(std::move(completed));
    BLOCKPUB_CHECK(parsed.has_value(), "a coinbase with a witness does not parse");
    return *std::move(parsed);
}

}  // namespace blockpub
