// SPDX-License-Identifier: MIT
#include "primitives/block.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <utility>

namespace blockpub {
namespace {

// Version, two empty counts, lock time.
constexpr std::size_t kSmallestTransaction = 10;

std::size_t compact_size_length(std::uint64_t value) {
    if (value < 253) return 1;
    if (value <= 0xffff) return 3;
    return value <= 0xffffffff ? 5 : 9;
}

}  // namespace

Result<ParsedBlock> ParsedBlock::parse(SharedBytes raw) {
    const ByteSpan bytes = raw.bytes();
    // Offsets are kept in 32 bits; nothing that Core takes comes near.
    if (bytes.size() > kMaxSerializedSize)
        return fail(Errc::corrupt, "block larger than any that is serialized");
    ParsedBlock block;
    auto visited = for_each_transaction(bytes, [&](std::size_t position, const TransactionView& transaction) {
        if (position == 0) {
            ByteReader reader(bytes.subspan(BlockHeader::kSize));
            const std::uint64_t claimed = reader.compact_size();
            block.transactions_.reserve(
                std::min<std::uint64_t>(claimed, reader.remaining() / kSmallestTransaction + 1));
        }
        block.stripped_size_ += transaction.stripped_size();
        block.transactions_.push_back(
            {.offset = static_cast<std::uint32_t>(transaction.bytes().data() - bytes.data()),
             .size = static_cast<std::uint32_t>(transaction.total_size()),
             .has_witness = transaction.has_witness(),
             .txid = transaction.txid()});
    });
    if (!visited) return forward_error(visited);
    block.stripped_size_ += BlockHeader::kSize + compact_size_length(block.transactions_.size());
    block.header_ = BlockHeader::decode(bytes);
    block.hash_ = hash_header(bytes);
    block.raw_ = std::move(raw);
    return block;
}

TransactionView ParsedBlock::transaction(std::size_t position) const {
    BLOCKPUB_CHECK(position < transactions_.size(), "{} of {}", position, transactions_.size());
    const Entry& entry = transactions_[position];
    const ByteSpan bytes = raw_.bytes();
    auto view = TransactionView::parse_whole(bytes.subspan(entry.offset, entry.size));
    BLOCKPUB_CHECK(view.has_value(), "transaction {}", position);
    return *view;
}

SharedBytes ParsedBlock::raw_transaction(std::size_t position) const {
    BLOCKPUB_CHECK(position < transactions_.size(), "{} of {}", position, transactions_.size());
    return raw_.slice(transactions_[position].offset, transactions_[position].size);
}

}  // namespace blockpub
