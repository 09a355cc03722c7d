// SPDX-License-Identifier: MIT
#include "primitives/block.hpp"

#include "base/check.hpp"
#include "primitives/compact_size.hpp"
#include "primitives/sha256_batch.hpp"

#include <algorithm>
#include <utility>

namespace blockpub {
namespace {

// Room is made ahead for as many transactions as are claimed, but not for more than the bytes could usually
// hold.
constexpr std::size_t kUsualTransaction = 60;

}  // namespace

Result<ParsedBlock> ParsedBlock::parse(SharedBytes raw) {
    auto block = parse_front(raw);
    if (block && block->raw_.size() != raw.size()) {
        return fail(Errc::corrupt, "bytes behind the block's last transaction");
    }
    return block;
}

Result<ParsedBlock> ParsedBlock::parse_front(const SharedBytes& raw) {
    const ByteSpan bytes = raw.bytes();
    // Offsets are kept in 32 bits; nothing that Core takes comes near.
    if (bytes.size() > kMaxSerializedSize)
        return fail(Errc::corrupt, "block larger than any that is serialized");
    ParsedBlock block;
    ByteReader reader(bytes);
    auto read = read_block(reader, [&](std::size_t position, const TransactionView& transaction) {
        if (position == 0) {
            ByteReader counter(bytes.subspan(BlockHeader::kSize));
            const std::uint64_t claimed = counter.compact_size();
            block.transactions_.reserve(
                std::min<std::uint64_t>(claimed, counter.remaining() / kUsualTransaction + 1));
        }
        block.stripped_size_ += transaction.stripped_size();
        block.transactions_.push_back(
            {.offset = static_cast<std::uint32_t>(transaction.bytes().data() - bytes.data()),
             .size = static_cast<std::uint32_t>(transaction.total_size()),
             .has_witness = transaction.has_witness(),
             .shape = transaction.shape(),
             .txid = {}});
    });
    if (!read) return forward_error(read);
    block.hash_transactions(bytes);
    block.stripped_size_ += BlockHeader::kSize + compact_size_length(block.transactions_.size());
    block.header_ = BlockHeader::decode(bytes);
    block.hash_ = hash_header(bytes);
    block.raw_ = reader.remaining() == 0 ? raw : raw.slice(0, reader.position());
    return block;
}

void ParsedBlock::hash_transactions(ByteSpan bytes) {
    std::vector<Digest256> digests(transactions_.size());
    Sha256dBatch batch;
    for (std::size_t i = 0; i < digests.size(); ++i) {
        const Entry& entry = transactions_[i];
        const auto view = TransactionView::of_shape(bytes.subspan(entry.offset, entry.size), entry.shape);
        batch.add(view.stripped_parts(), digests[i]);
    }
    batch.finish();
    for (std::size_t i = 0; i < digests.size(); ++i) transactions_[i].txid = Txid(digests[i]);
}

TransactionView ParsedBlock::transaction(std::size_t position) const {
    BLOCKPUB_CHECK(position < transactions_.size(), "{} of {}", position, transactions_.size());
    const Entry& entry = transactions_[position];
    const ByteSpan bytes = raw_.bytes();
    return TransactionView::of_shape(bytes.subspan(entry.offset, entry.size), entry.shape);
}

SharedBytes ParsedBlock::raw_transaction(std::size_t position) const {
    BLOCKPUB_CHECK(position < transactions_.size(), "{} of {}", position, transactions_.size());
    return raw_.slice(transactions_[position].offset, transactions_[position].size);
}

}  // namespace blockpub
