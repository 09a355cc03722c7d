// SPDX-License-Identifier: MIT
#include "source/p2p_compact.hpp"

#include "base/endian.hpp"
#include "primitives/reader.hpp"
#include "primitives/sha256.hpp"
#include "primitives/transaction.hpp"
#include "primitives/wire_writer.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace blockpub {
namespace {

constexpr std::uint64_t kShortIdMask = 0xffff'ffff'ffff;
constexpr std::size_t kShortIdSize = 6;

std::unexpected<Error> malformed(std::string_view what, std::string_view reason) {
    return fail(Errc::corrupt, fmt::format("{} {}", what, reason));
}

/// Each place is sent as its distance from the one behind the last.
class PositionDecoder {
 public:
    /// Fails the reader where a place cannot be that of a transaction.
    [[nodiscard]] std::uint32_t next(ByteReader& reader) {
        const std::uint64_t position = reader.compact_size() + next_;
        if (position >= kMaxCompactTransactions) reader.fail();
        next_ = position + 1;
        return static_cast<std::uint32_t>(position);
    }

 private:
    std::uint64_t next_ = 0;
};

class PositionEncoder {
 public:
    void put(WireWriter& writer, std::uint32_t position) {
        writer.compact_size(position - next_);
        next_ = position + 1;
    }

 private:
    std::uint32_t next_ = 0;
};

/// A whole transaction at the reader's place, as a part of `payload`; empty after a failure.
SharedBytes read_transaction(ByteReader& reader, const SharedBytes& payload) {
    const std::size_t begin = reader.position();
    const auto transaction = TransactionView::parse(reader);
    if (!transaction) {
        reader.fail();
        return {};
    }
    return payload.slice(begin, transaction->total_size());
}

void read_short_ids(ByteReader& reader, std::uint64_t count, CompactBlock& block) {
    block.short_ids.reserve(static_cast<std::size_t>(count));
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t low = reader.le<std::uint32_t>();
        block.short_ids.push_back(low | std::uint64_t{reader.le<std::uint16_t>()} << 32);
    }
}

}  // namespace

SipHashKey CompactBlock::key() const {
    std::array<std::uint8_t, BlockHeader::kSize + sizeof nonce> seed{};
    const auto head = header.encode();
    std::copy(head.begin(), head.end(), seed.begin());
    write_le(seed.data() + BlockHeader::kSize, nonce);
    const Digest256 digest = sha256(seed);
    return {read_le<std::uint64_t>(digest.data()), read_le<std::uint64_t>(digest.data() + 8)};
}

std::uint64_t short_id(const SipHashKey& key, const Wtxid& wtxid) {
    return siphash(key, wtxid.wire_bytes()) & kShortIdMask;
}

std::vector<std::uint8_t> encode_compact_block(const CompactBlock& block) {
    std::vector<std::uint8_t> out;
    WireWriter writer(out);
    writer.bytes(block.header.encode());
    writer.le(block.nonce);
    writer.compact_size(block.short_ids.size());
    for (const std::uint64_t id : block.short_ids) {
        writer.le(static_cast<std::uint32_t>(id));
        writer.le(static_cast<std::uint16_t>(id >> 32));
    }
    writer.compact_size(block.prefilled.size());
    PositionEncoder positions;
    for (const CompactBlock::Prefilled& prefilled : block.prefilled) {
        positions.put(writer, prefilled.position);
        writer.bytes(prefilled.transaction.bytes());
    }
    return out;
}

Result<CompactBlock> decode_compact_block(const SharedBytes& payload) {
    ByteReader reader(payload.bytes());
    CompactBlock block;
    const ByteSpan header = reader.take(BlockHeader::kSize);
    if (reader.ok()) block.header = BlockHeader::decode(header);
    block.nonce = reader.le<std::uint64_t>();
    const std::uint64_t count = reader.compact_size();
    if (!reader.ok() || count > kMaxCompactTransactions || reader.remaining() < count * kShortIdSize)
        return malformed("cmpctblock", "with too many or too few short ids");
    read_short_ids(reader, count, block);
    const std::uint64_t prefilled = reader.compact_size();
    if (prefilled + count > kMaxCompactTransactions)
        return malformed("cmpctblock", "with too many transactions");
    PositionDecoder positions;
    for (std::uint64_t i = 0; reader.ok() && i < prefilled; ++i) {
        const std::uint32_t position = positions.next(reader);
        // Of what comes before it, all that is not sent whole must have a short id.
        if (position > count + i) reader.fail();
        block.prefilled.push_back({position, read_transaction(reader, payload)});
    }
    if (!reader.ok())
        return malformed("cmpctblock", "with a transaction that does not decode, or out of place");
    if (block.transaction_count() == 0) return malformed("cmpctblock", "without transactions");
    return block;
}

std::vector<std::uint8_t> encode_block_transactions_request(const BlockTransactionsRequest& message) {
    std::vector<std::uint8_t> out;
    WireWriter writer(out);
    writer.bytes(message.block.wire_bytes());
    writer.compact_size(message.positions.size());
    PositionEncoder positions;
    for (const std::uint32_t position : message.positions) positions.put(writer, position);
    return out;
}

Result<BlockTransactionsRequest> decode_block_transactions_request(ByteSpan payload) {
    ByteReader reader(payload);
    BlockTransactionsRequest message;
    const ByteSpan hash = reader.take(BlockHash::kSize);
    if (reader.ok()) message.block = BlockHash::from_wire(hash);
    const std::uint64_t count = reader.compact_size();
    PositionDecoder positions;
    for (std::uint64_t i = 0; reader.ok() && i < count; ++i)
        message.positions.push_back(positions.next(reader));
    if (!reader.ok())
        return malformed("getblocktxn", "that ends too early, or with a place beyond any block");
    return message;
}

std::vector<std::uint8_t> encode_block_transactions(const BlockTransactions& message) {
    std::vector<std::uint8_t> out;
    WireWriter writer(out);
    writer.bytes(message.block.wire_bytes());
    writer.compact_size(message.transactions.size());
    for (const SharedBytes& transaction : message.transactions) writer.bytes(transaction.bytes());
    return out;
}

Result<BlockTransactions> decode_block_transactions(const SharedBytes& payload) {
    ByteReader reader(payload.bytes());
    BlockTransactions message;
    const ByteSpan hash = reader.take(BlockHash::kSize);
    if (reader.ok()) message.block = BlockHash::from_wire(hash);
    const std::uint64_t count = reader.compact_size();
    if (count > kMaxCompactTransactions) return malformed("blocktxn", "with too many transactions");
    for (std::uint64_t i = 0; reader.ok() && i < count; ++i)
        message.transactions.push_back(read_transaction(reader, payload));
    if (!reader.ok()) return malformed("blocktxn", "with a transaction that does not decode");
    return message;
}

}  // namespace blockpub
