// SPDX-License-Identifier: MIT
#include "chain/block_checks.hpp"

#include "base/check.hpp"
#include "base/endian.hpp"
#include "chain/header_checks.hpp"
#include "chain/transaction_checks.hpp"
#include "primitives/merkle.hpp"
#include "primitives/script.hpp"
#include "primitives/sha256.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace blockpub {
namespace {

constexpr std::size_t kMaxLegacySigopsCost = 80'000;
constexpr std::size_t kCommitmentOffset = 6;  ///< behind OP_RETURN, push of 36 and aa21a9ed
constexpr std::size_t kNonceSize = 32;

std::size_t count_legacy_sigops(const TransactionView& transaction) {
    std::size_t count = 0;
    transaction.for_each_input([&](std::size_t, const TxInput& input) {
        count += count_sigops(input.script, false);
        return true;
    });
    transaction.for_each_output([&](std::size_t, const TxOutput& output) {
        count += count_sigops(output.script, false);
        return true;
    });
    return count;
}

Verdict check_merkle_root(const ParsedBlock& block) {
    const MerkleResult merkle = block_merkle_root(block);
    if (MerkleRoot(merkle.root) != block.header().merkle_root) {
        return reject("bad-txnmrklroot", "hashMerkleRoot mismatch", Rejection::Kind::mutated);
    }
    if (merkle.mutated)
        return reject("bad-txns-duplicate", "duplicate transaction", Rejection::Kind::mutated);
    return {};
}

/// Core's order over the whole block: where the coinbases are first, then each transaction, then all their
/// signature operations. One walk finds all three.
Verdict check_transactions(const ParsedBlock& block) {
    const char* broken = nullptr;
    std::size_t broken_at = 0;
    bool starts_with_coinbase = false;
    bool more_coinbases = false;
    std::size_t sigops = 0;
    std::vector<Outpoint> scratch;
    for (std::size_t position = 0; position < block.transactions().size(); ++position) {
        const TransactionView transaction = block.transaction(position);
        const bool coinbase = transaction.is_coinbase();
        if (position == 0) {
            starts_with_coinbase = coinbase;
        } else {
            more_coinbases |= coinbase;
        }
        if (broken == nullptr) {
            broken = check_transaction(transaction, scratch);
            broken_at = position;
        }
        sigops += count_legacy_sigops(transaction);
    }
    if (!starts_with_coinbase) return reject("bad-cb-missing", "first tx is not coinbase");
    if (more_coinbases) return reject("bad-cb-multiple", "more than one coinbase");
    if (broken != nullptr) {
        // The blank at the end is Core's, whose transaction checks have no message of their own.
        return reject(broken, fmt::format("Transaction check failed (tx hash {}) ",
                                          block.transactions()[broken_at].txid.display_hex()));
    }
    if (sigops * kWitnessScale > kMaxLegacySigopsCost)
        return reject("bad-blk-sigops", "out-of-bounds SigOpCount");
    return {};
}

bool all_final(const ParsedBlock& block, Height height, std::int64_t lock_time_cutoff) {
    const std::vector<ParsedBlock::Entry>& entries = block.transactions();
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const std::size_t end = std::size_t{entries[i].offset} + entries[i].size;
        const auto lock_time = read_le<std::uint32_t>(block.raw().data() + end - sizeof(std::uint32_t));
        // Most have none: their inputs need not be looked at.
        if (lock_time != 0 && !is_final(block.transaction(i), height, lock_time_cutoff)) return false;
    }
    return true;
}

/// Whether the coinbase script begins with the block's height. (BIP 34)
bool begins_with_height(const TransactionView& coinbase, Height height) {
    Script expected;
    push_number(expected, height.value);
    bool begins = false;
    coinbase.for_each_input([&](std::size_t, const TxInput& input) {
        begins = input.script.size() >= expected.size() &&
                 std::equal(expected.begin(), expected.end(), input.script.begin());
        return false;
    });
    return begins;
}

Verdict check_commitment(const ParsedBlock& block, const TransactionView& coinbase,
                         std::size_t commitment_output, WitnessRootAhead* ahead) {
    std::size_t items = 0;
    ByteSpan nonce;
    coinbase.for_each_witness_item([&](std::size_t input, std::size_t, ByteSpan item) {
        if (input == 0) ++items;
        nonce = item;
        return items < 2;
    });
    if (items != 1 || nonce.size() != kNonceSize) {
        return reject("bad-witness-nonce-size",
                      "CheckWitnessMalleation : invalid witness reserved value size",
                      Rejection::Kind::mutated);
    }
    std::optional<Digest256> root = ahead == nullptr ? std::nullopt : ahead->root();
    if (!root) root = block_witness_merkle_root(block);
    const ByteSpan parts[] = {*root, nonce};
    const Digest256 expected = sha256d(parts);
    bool matches = false;
    coinbase.for_each_output([&](std::size_t position, const TxOutput& output) {
        if (position != commitment_output) return true;
        matches =
            std::memcmp(output.script.data() + kCommitmentOffset, expected.data(), expected.size()) == 0;
        return false;
    });
    if (!matches) {
        return reject("bad-witness-merkle-match",
                      "CheckWitnessMalleation : witness merkle commitment mismatch",
                      Rejection::Kind::mutated);
    }
    return {};
}

Verdict check_no_witness(const ParsedBlock& block) {
    const bool any = std::ranges::any_of(block.transactions(), &ParsedBlock::Entry::has_witness);
    if (any) {
        return reject("unexpected-witness", "CheckWitnessMalleation : unexpected witness data found",
                      Rejection::Kind::mutated);
    }
    return {};
}

Verdict check_witness(const ParsedBlock& block, WitnessRootAhead* ahead) {
    const TransactionView coinbase = block.transaction(0);
    if (const auto output = witness_commitment_output(coinbase))
        return check_commitment(block, coinbase, *output, ahead);
    return check_no_witness(block);
}

}  // namespace

bool body_matches_header(const ParsedBlock& block) {
    if (check_merkle_root(block)) return false;
    const auto& entries = block.transactions();
    const bool witness = std::ranges::any_of(entries, &ParsedBlock::Entry::has_witness);
    return !witness || !check_witness(block, nullptr);
}

Verdict check_block_context_free(const ParsedBlock& block, const ChainParams& params,
                                 bool check_proof_of_work) {
    if (check_proof_of_work) {
        if (Verdict broken = check_header_alone(block.header(), block.hash(), params)) return broken;
    }
    if (Verdict broken = check_merkle_root(block)) return broken;
    const std::size_t count = block.transactions().size();
    if (count == 0 || count * kWitnessScale > kMaxBlockWeight ||
        block.stripped_size() * kWitnessScale > kMaxBlockWeight) {
        return reject("bad-blk-length", "size limits failed");
    }
    return check_transactions(block);
}

CheckedBlock CheckedBlock::check(ParsedBlock block, const ChainParams& params, bool check_proof_of_work,
                                 WitnessRootAhead* ahead) {
    CheckedBlock checked;
    checked.context_free = check_block_context_free(block, params, check_proof_of_work);
    if (!checked.context_free) checked.witness = check_witness(block, ahead);
    checked.block = std::move(block);
    return checked;
}

CheckedBlock CheckedBlock::with_completed_coinbase(ParsedBlock block) {
    CheckedBlock checked;
    checked.witness = check_witness(block, nullptr);
    checked.block = std::move(block);
    return checked;
}

Verdict check_block_in_context(const CheckedBlock& checked, const HeaderNode& parent,
                               const ChainParams& params) {
    const ParsedBlock& block = checked.block;
    const Height height = parent.height.next();
    // BIP 113: once CSV is in force, time locks are held against the median time past.
    const std::int64_t cutoff =
        height >= params.csv_height ? parent.median_time_past() : std::int64_t{block.header().time};
    if (!all_final(block, height, cutoff)) return reject("bad-txns-nonfinal", "non-final transaction");
    if (height >= params.bip34_height && !begins_with_height(block.transaction(0), height)) {
        return reject("bad-cb-height", "block height mismatch in coinbase");
    }
    const Verdict witness = height >= params.segwit_height ? checked.witness : check_no_witness(block);
    if (witness) return witness;
    if (block.weight() > kMaxBlockWeight)
        return reject("bad-blk-weight", "ContextualCheckBlock : weight limit failed");
    return {};
}

}  // namespace blockpub
