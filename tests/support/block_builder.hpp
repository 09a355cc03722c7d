// SPDX-License-Identifier: MIT
#pragma once

#include "base/endian.hpp"
#include "primitives/chain_params.hpp"
#include "primitives/header.hpp"
#include "primitives/merkle.hpp"
#include "primitives/script.hpp"
#include "primitives/sha256.hpp"
#include "primitives/transaction.hpp"
#include "primitives/work.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/hash.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

// Makes transactions and regtest blocks for tests: valid ones by default, and wrong in any one place on
// request.

namespace blockpub::test {

using Bytes = std::vector<std::uint8_t>;

inline void append(Bytes& out, ByteSpan bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
}

template <std::integral T>
void append_le(Bytes& out, T value) {
    out.resize(out.size() + sizeof value);
    write_le(out.data() + out.size() - sizeof value, value);
}

inline void append_compact_size(Bytes& out, std::uint64_t value) {
    if (value < 253) {
        out.push_back(static_cast<std::uint8_t>(value));
    } else if (value <= 0xffff) {
        out.push_back(253);
        append_le(out, static_cast<std::uint16_t>(value));
    } else {
        out.push_back(254);
        append_le(out, static_cast<std::uint32_t>(value));
    }
}

/// A transaction under construction. Set what differs; `build` serializes it, with witness where one was
/// given.
struct TransactionSpec {
    struct Input {
        Outpoint prevout;
        Script script;
        std::uint32_t sequence = 0xffffffff;
        std::vector<Bytes> witness;
    };
    struct Output {
        Amount amount = 0;
        Script script;
    };
    std::int32_t version = 2;
    std::vector<Input> inputs;
    std::vector<Output> outputs;
    std::uint32_t lock_time = 0;

    [[nodiscard]] bool has_witness() const {
        for (const Input& input : inputs) {
            if (!input.witness.empty()) return true;
        }
        return false;
    }

    [[nodiscard]] Bytes build(bool with_witness = true) const {
        const bool witness = with_witness && has_witness();
        Bytes out;
        append_le(out, version);
        if (witness) append(out, Bytes{0, 1});
        append_compact_size(out, inputs.size());
        for (const Input& input : inputs) {
            append(out, input.prevout.txid.wire_bytes());
            append_le(out, input.prevout.position);
            append_compact_size(out, input.script.size());
            append(out, input.script);
            append_le(out, input.sequence);
        }
        append_compact_size(out, outputs.size());
        for (const Output& output : outputs) {
            append_le(out, output.amount);
            append_compact_size(out, output.script.size());
            append(out, output.script);
        }
        if (witness) {
            for (const Input& input : inputs) {
                append_compact_size(out, input.witness.size());
                for (const Bytes& item : input.witness) {
                    append_compact_size(out, item.size());
                    append(out, item);
                }
            }
        }
        append_le(out, lock_time);
        return out;
    }

    [[nodiscard]] Txid txid() const { return Txid(sha256d(build(false))); }
};

/// A transaction that spends `prevout` to one output that anybody may spend.
[[nodiscard]] inline TransactionSpec spend(const Outpoint& prevout, Amount amount) {
    TransactionSpec transaction;
    transaction.inputs.push_back({.prevout = prevout, .script = {}, .sequence = 0xffffffff, .witness = {}});
    transaction.outputs.push_back({.amount = amount, .script = {0x51}});
    return transaction;
}

/// A block that has been built.
struct BuiltBlock {
    BlockHash hash;
    BlockHash previous;
    Height height;
    std::uint32_t time = 0;
    SharedBytes raw;
    TransactionSpec coinbase;
};

/// What a block shall be. All defaults together make a valid block on top of `previous`.
struct BlockSpec {
    BlockHash previous;
    Height height{1};
    std::uint32_t time = 0;
    std::int32_t version = 0x20000000;
    std::uint32_t bits = 0x207fffff;
    std::uint64_t salt = 0;  ///< goes into the coinbase: siblings differ by it
    Amount coinbase_amount = 50 * kCoin;
    std::vector<TransactionSpec> transactions;  ///< behind the coinbase
    bool commit_to_witness = true;              ///< a BIP 141 commitment and the coinbase's witness
    bool valid_proof_of_work = true;
    std::optional<TransactionSpec> coinbase;  ///< taken as it is in place of the coinbase that would be made
    std::optional<MerkleRoot> merkle_root;    ///< in place of the right one
};

namespace detail {

inline MerkleRoot merkle_root_of(const std::vector<TransactionSpec>& transactions) {
    std::vector<Digest256> leaves;
    for (const auto& transaction : transactions) leaves.push_back(transaction.txid().wire_bytes());
    return MerkleRoot(blockpub::merkle_root(std::move(leaves)).root);
}

inline void add_witness_commitment(TransactionSpec& coinbase, const std::vector<TransactionSpec>& others) {
    std::vector<Digest256> leaves{Digest256{}};
    for (const auto& transaction : others) leaves.push_back(sha256d(transaction.build()));
    const Digest256 root = blockpub::merkle_root(std::move(leaves)).root;
    const Digest256 commitment = sha256d_pair(root, Digest256{});
    Script script{0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed};
    append(script, commitment);
    coinbase.outputs.push_back({.amount = 0, .script = script});
    coinbase.inputs.front().witness = {Bytes(32, 0)};
}

inline TransactionSpec make_coinbase(const BlockSpec& spec) {
    TransactionSpec coinbase;
    Script script;
    push_number(script, spec.height.value);
    Bytes salt;
    append_le(salt, spec.salt);
    push_data(script, salt);
    coinbase.inputs.push_back({.prevout = {.txid = {}, .position = 0xffffffff},
                               .script = script,
                               .sequence = 0xffffffff,
                               .witness = {}});
    coinbase.outputs.push_back({.amount = spec.coinbase_amount, .script = {0x51}});
    if (spec.commit_to_witness) add_witness_commitment(coinbase, spec.transactions);
    return coinbase;
}

}  // namespace detail

/// Finds a nonce so that the header meets its own bits, or just misses them. For regtest's bits.
inline void mine_header(BlockHeader& header, const Uint256& limit, bool valid = true) {
    while (meets_proof_of_work(header.hash(), header.bits, limit) != valid) ++header.nonce;
}

[[nodiscard]] inline BuiltBlock build_block(const BlockSpec& spec) {
    std::vector<TransactionSpec> transactions{spec.coinbase ? *spec.coinbase : detail::make_coinbase(spec)};
    transactions.insert(transactions.end(), spec.transactions.begin(), spec.transactions.end());
    BlockHeader header;
    header.version = spec.version;
    header.previous = spec.previous;
    header.merkle_root = spec.merkle_root ? *spec.merkle_root : detail::merkle_root_of(transactions);
    header.time = spec.time;
    header.bits = spec.bits;
    mine_header(header, chain_params(ChainKind::regtest).pow_limit, spec.valid_proof_of_work);
    Bytes raw;
    append(raw, header.encode());
    append_compact_size(raw, transactions.size());
    for (const auto& transaction : transactions) append(raw, transaction.build());
    return {.hash = header.hash(),
            .previous = spec.previous,
            .height = spec.height,
            .time = spec.time,
            .raw = SharedBytes::copy_of(raw),
            .coinbase = transactions.front()};
}

/// Regtest's genesis as a parent to build on.
[[nodiscard]] inline BuiltBlock regtest_genesis() {
    const ChainParams& params = chain_params(ChainKind::regtest);
    return {.hash = params.genesis_hash,
            .previous = {},
            .height = {0},
            .time = BlockHeader::decode(params.genesis).time,
            .raw = SharedBytes::copy_of(params.genesis),
            .coinbase = {}};
}

/// What a valid child of `parent` is, ten minutes later, to be changed before it is built.
[[nodiscard]] inline BlockSpec child_spec(const BuiltBlock& parent, std::uint64_t salt = 0) {
    BlockSpec spec;
    spec.previous = parent.hash;
    spec.height = parent.height.next();
    spec.time = parent.time + 600;
    spec.salt = salt;
    return spec;
}

[[nodiscard]] inline BuiltBlock child_of(const BuiltBlock& parent, std::uint64_t salt = 0) {
    return build_block(child_spec(parent, salt));
}

/// `length` blocks on top of `parent`, oldest first.
[[nodiscard]] inline std::vector<BuiltBlock> build_branch(const BuiltBlock& parent, std::size_t length,
                                                          std::uint64_t salt = 0) {
    std::vector<BuiltBlock> branch;
    for (std::size_t i = 0; i < length; ++i)
        branch.push_back(child_of(i == 0 ? parent : branch.back(), salt));
    return branch;
}

}  // namespace blockpub::test
