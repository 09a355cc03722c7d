// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/header.hpp"
#include "primitives/siphash.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/hash.hpp>
#include <blockpub/result.hpp>

#include <cstdint>
#include <vector>

// The payloads of compact blocks. Decoders as those of p2p_messages. Source: BIP 152, version 2 (short ids of
// wtxids).

namespace blockpub {

/// Transactions that a block of kMaxBlockWeight can hold, at most: places are sent in 16 bits.
inline constexpr std::size_t kMaxCompactTransactions = 0x10000;

/// cmpctblock: a block whose transactions are named by 48 bits each, but for those sent whole.
struct CompactBlock {
    struct Prefilled {
        std::uint32_t position = 0;  ///< in the block, not the difference that is sent
        SharedBytes transaction;
    };
    BlockHeader header;
    std::uint64_t nonce = 0;
    std::vector<std::uint64_t> short_ids;
    std::vector<Prefilled> prefilled;  ///< by rising position

    [[nodiscard]] std::size_t transaction_count() const { return short_ids.size() + prefilled.size(); }
    /// Of the short ids of this block.
    [[nodiscard]] SipHashKey key() const;
};
/// The 48 bits that name a transaction in the block that `key` is of.
[[nodiscard]] std::uint64_t short_id(const SipHashKey& key, const Wtxid& wtxid);
[[nodiscard]] std::vector<std::uint8_t> encode_compact_block(const CompactBlock& block);
[[nodiscard]] Result<CompactBlock> decode_compact_block(const SharedBytes& payload);

/// getblocktxn: which transactions of a block are wanted whole.
struct BlockTransactionsRequest {
    BlockHash block;
    std::vector<std::uint32_t> positions;  ///< rising
};
[[nodiscard]] std::vector<std::uint8_t> encode_block_transactions_request(
    const BlockTransactionsRequest& message);
[[nodiscard]] Result<BlockTransactionsRequest> decode_block_transactions_request(ByteSpan payload);

/// blocktxn: those transactions, in the same order.
struct BlockTransactions {
    BlockHash block;
    std::vector<SharedBytes> transactions;
};
[[nodiscard]] std::vector<std::uint8_t> encode_block_transactions(const BlockTransactions& message);
[[nodiscard]] Result<BlockTransactions> decode_block_transactions(const SharedBytes& payload);

}  // namespace blockpub
