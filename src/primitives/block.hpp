// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/header.hpp"
#include "primitives/transaction.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/hash.hpp>
#include <blockpub/result.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace blockpub {

inline constexpr std::size_t kMaxBlockSize = 4'000'000;  ///< serialized, with witness
inline constexpr std::size_t kMaxBlockWeight = 4'000'000;
inline constexpr std::size_t kWitnessScale = 4;

/// Calls `visit(std::size_t position, const TransactionView&)` for each transaction of the block that begins
/// at the reader's position, and moves it behind the block. Errors: corrupt; the reader is then anywhere in
/// it. Allocates nothing.
template <class Visit>
[[nodiscard]] Result<void> read_block(ByteReader& reader, Visit&& visit) {
    reader.skip(BlockHeader::kSize);
    if (!reader.ok()) return fail(Errc::corrupt, "block shorter than its header");
    const std::uint64_t count = reader.compact_size();
    for (std::uint64_t i = 0; reader.ok() && i < count; ++i) {
        auto transaction = TransactionView::parse(reader);
        if (!transaction) return forward_error(transaction);
        visit(static_cast<std::size_t>(i), *transaction);
    }
    if (!reader.ok())
        return fail(Errc::corrupt, "block ends within its count of transactions, or that is not canonical");
    return {};
}

/// As read_block, for bytes that must be one whole block. Errors: corrupt, also for bytes behind the last
/// transaction.
template <class Visit>
[[nodiscard]] Result<void> for_each_transaction(ByteSpan block, Visit&& visit) {
    ByteReader reader(block);
    auto read = read_block(reader, std::forward<Visit>(visit));
    if (read && reader.remaining() != 0)
        return fail(Errc::corrupt, "bytes behind the block's last transaction");
    return read;
}

/// A raw block with what a parse of it costs: header, hash, and place and ids of every transaction.
///
/// Made once, on whatever thread first needs it, and then shared.
/// Thread safety: immutable after parse.
/// Ownership: keeps the raw bytes alive.
class ParsedBlock {
 public:
    struct Entry {
        std::uint32_t offset = 0;  ///< of the transaction in the raw block
        std::uint32_t size = 0;    ///< serialized with witness
        bool has_witness = false;
        TransactionView::Shape shape;
        Txid txid;
    };

    /// Decodes the whole block, hashing each transaction. Errors: corrupt.
    [[nodiscard]] static Result<ParsedBlock> parse(SharedBytes raw);
    /// As parse, but drops what lies behind the block, as Core does with the argument of submitblock; raw()
    /// is the block alone.
    [[nodiscard]] static Result<ParsedBlock> parse_front(const SharedBytes& raw);

    [[nodiscard]] const SharedBytes& raw() const { return raw_; }
    [[nodiscard]] const BlockHeader& header() const { return header_; }
    [[nodiscard]] const BlockHash& hash() const { return hash_; }
    [[nodiscard]] const std::vector<Entry>& transactions() const { return transactions_; }
    /// Does not parse again. Requires: position < transactions().size().
    [[nodiscard]] TransactionView transaction(std::size_t position) const;
    [[nodiscard]] SharedBytes raw_transaction(std::size_t position) const;
    /// Serialized size without witness.
    [[nodiscard]] std::size_t stripped_size() const { return stripped_size_; }
    [[nodiscard]] std::size_t weight() const { return stripped_size_ * 3 + raw_.size(); }

 private:
    void hash_transactions(ByteSpan bytes);

    SharedBytes raw_;
    BlockHeader header_;
    BlockHash hash_;
    std::vector<Entry> transactions_;
    std::size_t stripped_size_ = 0;
};

}  // namespace blockpub
