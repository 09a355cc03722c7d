// SPDX-License-Identifier: MIT
#include "primitives/merkle.hpp"

#include "primitives/sha256_batch.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace blockpub {
namespace {

// OP_RETURN, a push of 36 bytes, and BIP 141's header of the commitment.
constexpr std::array<std::uint8_t, 6> kCommitmentPrefix{0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed};
constexpr std::size_t kCommitmentSize = kCommitmentPrefix.size() + 32;

}  // namespace

MerkleResult merkle_root(std::vector<Digest256> leaves) {
    MerkleResult result;
    Sha256dBatch batch;
    while (leaves.size() > 1) {
        for (std::size_t i = 0; i + 1 < leaves.size(); i += 2) result.mutated |= leaves[i] == leaves[i + 1];
        if (leaves.size() % 2 != 0) leaves.push_back(leaves.back());
        // In place: a node is written when its children, and all before them, have been taken.
        for (std::size_t i = 0; i < leaves.size() / 2; ++i) {
            const ByteSpan children[] = {leaves[2 * i], leaves[2 * i + 1]};
            batch.add(children, leaves[i]);
        }
        batch.finish();
        leaves.resize(leaves.size() / 2);
    }
    if (!leaves.empty()) result.root = leaves.front();
    return result;
}

MerkleResult block_merkle_root(const ParsedBlock& block) {
    std::vector<Digest256> leaves;
    leaves.reserve(block.transactions().size() + 1);
    for (const ParsedBlock::Entry& entry : block.transactions()) leaves.push_back(entry.txid.wire_bytes());
    return merkle_root(std::move(leaves));
}

Digest256 block_witness_merkle_root(const ParsedBlock& block) {
    const auto& entries = block.transactions();
    std::vector<Digest256> leaves(entries.size());
    leaves.reserve(leaves.size() + 1);
    const ByteSpan raw = block.raw().bytes();
    Sha256dBatch batch;
    for (std::size_t i = 1; i < leaves.size(); ++i) {
        if (entries[i].has_witness) {
            batch.add(raw.subspan(entries[i].offset, entries[i].size), leaves[i]);
        } else {
            leaves[i] = entries[i].txid.wire_bytes();
        }
    }
    batch.finish();
    return merkle_root(std::move(leaves)).root;
}

Result<Digest256> witness_merkle_root(ByteSpan raw) {
    std::vector<ByteSpan> transactions;
    ByteReader reader(raw);
    auto read = read_block(reader, [&](std::size_t, const TransactionView& transaction) {
        transactions.push_back(transaction.bytes());
    });
    if (!read) return forward_error(read);
    std::vector<Digest256> leaves(transactions.size());
    leaves.reserve(leaves.size() + 1);
    Sha256dBatch batch;
    for (std::size_t i = 1; i < leaves.size(); ++i) batch.add(transactions[i], leaves[i]);
    batch.finish();
    return merkle_root(std::move(leaves)).root;
}

std::optional<std::size_t> witness_commitment_output(const TransactionView& coinbase) {
    std::optional<std::size_t> found;
    coinbase.for_each_output([&](std::size_t position, const TxOutput& output) {
        if (output.script.size() >= kCommitmentSize &&
            std::ranges::equal(output.script.first(kCommitmentPrefix.size()), kCommitmentPrefix)) {
            found = position;
        }
        return true;
    });
    return found;
}

}  // namespace blockpub
