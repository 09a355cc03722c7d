// SPDX-License-Identifier: MIT
#pragma once

#include "base/endian.hpp"
#include "chain/undo.hpp"
#include "primitives/block.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/result.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace blockpub {

/// The figures of getblockstats that follow from a block and the coins it spent.
/// Units: amounts in satoshi, fee rates in satoshi per virtual byte, sizes in bytes.
/// Source: Bitcoin Core v28.1 src/rpc/blockchain.cpp, getblockstats.
struct BlockStats {
    std::int64_t average_fee = 0;
    std::int64_t average_fee_rate = 0;
    std::int64_t average_tx_size = 0;
    std::array<std::int64_t, 5> fee_rate_percentiles{};  ///< at 10, 25, 50, 75 and 90 % of the weight
    std::int64_t inputs = 0;
    std::int64_t max_fee = 0;
    std::int64_t max_fee_rate = 0;
    std::int64_t max_tx_size = 0;
    std::int64_t median_fee = 0;
    std::int64_t median_tx_size = 0;
    std::int64_t min_fee = 0;
    std::int64_t min_fee_rate = 0;
    std::int64_t min_tx_size = 0;
    std::int64_t outputs = 0;
    std::int64_t segwit_total_size = 0;
    std::int64_t segwit_total_weight = 0;
    std::int64_t segwit_txs = 0;
    std::int64_t total_out = 0;
    std::int64_t total_size = 0;
    std::int64_t total_weight = 0;
    std::int64_t total_fee = 0;
    std::int64_t utxo_increase = 0;
    std::int64_t utxo_size_increase = 0;
    std::int64_t utxo_increase_actual = 0;
    std::int64_t utxo_size_increase_actual = 0;
    friend bool operator==(const BlockStats&, const BlockStats&) = default;
};

/// What is computed once, while a block is connected, so that later questions cost a look-up instead of a
/// parse.
struct BlockFacts {
    struct Transaction {
        std::uint32_t offset = 0;  ///< in the raw block
        std::uint32_t size = 0;    ///< serialized with witness
        Txid txid;
        friend bool operator==(const Transaction&, const Transaction&) = default;
    };
    std::uint32_t stripped_size = 0;  ///< of the block
    BlockStats stats;
    std::vector<Transaction> transactions;
    friend bool operator==(const BlockFacts&, const BlockFacts&) = default;
};

/// `repeats_coinbase`: the block is one of those two whose coinbase overwrites an earlier one (BIP 30).
/// Requires: undo fits the block.
[[nodiscard]] BlockFacts compute_facts(const ParsedBlock& block, Height height, bool repeats_coinbase,
                                       const BlockUndo& undo);

/// Stored facts, read in place: for questions about few transactions, or about their ids alone.
/// Thread safety: immutable.
/// Ownership: borrows the bytes.
class FactsView {
 public:
    /// Errors: corrupt (cut off, or not what their checksum says).
    [[nodiscard]] static Result<FactsView> open(ByteSpan bytes);
    /// Without a check. Requires: what encode_facts made.
    [[nodiscard]] static FactsView of_encoded(ByteSpan bytes);

    [[nodiscard]] std::uint32_t stripped_size() const { return read_le<std::uint32_t>(bytes_.data()); }
    [[nodiscard]] BlockStats stats() const;
    [[nodiscard]] std::size_t count() const { return count_; }
    // Requires: position < count().
    [[nodiscard]] std::uint32_t offset(std::size_t position) const;  ///< in the raw block
    [[nodiscard]] std::uint32_t size(std::size_t position) const;    ///< serialized with witness
    [[nodiscard]] ByteSpan txid(std::size_t position) const;         ///< in wire order

 private:
    FactsView(ByteSpan bytes, std::size_t count) : bytes_(bytes), count_(count) {}
    ByteSpan bytes_;
    std::size_t count_;
};

/// Facts as they are stored beside the block; see docs/storage.md.
[[nodiscard]] SharedBytes encode_facts(const BlockFacts& facts);
/// Errors: corrupt.
[[nodiscard]] Result<BlockFacts> decode_facts(ByteSpan bytes);

}  // namespace blockpub
