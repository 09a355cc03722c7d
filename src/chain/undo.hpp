// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/coin.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/result.hpp>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace blockpub {

/// The coins that a block spent: for each transaction behind the coinbase, one for each input, in their
/// order; all in one piece of memory. Thread safety: as a container of the standard library.
class BlockUndo {
 public:
    /// Makes room for so many transactions, and as many coins.
    void reserve(std::size_t transactions) {
        ends_.reserve(transactions);
        coins_.reserve(transactions);
    }
    void begin_transaction() { ends_.push_back(coins_.size()); }
    /// Requires: a transaction has begun.
    void add(Coin coin) {
        coins_.push_back(std::move(coin));
        ends_.back() = coins_.size();
    }

    /// Transactions behind the coinbase.
    [[nodiscard]] std::size_t size() const { return ends_.size(); }
    /// What the transaction behind the coinbase and `i` others spends. Valid until the next change.
    [[nodiscard]] std::span<const Coin> operator[](std::size_t i) const {
        const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
        return std::span(coins_).subspan(begin, ends_[i] - begin);
    }

 private:
    std::vector<Coin> coins_;
    std::vector<std::size_t> ends_;  // where in coins_ each transaction's end
};

/// Undo data as it is stored beside the block; see docs/storage.md.
[[nodiscard]] SharedBytes encode_undo(const BlockUndo& undo);
/// Errors: corrupt.
[[nodiscard]] Result<BlockUndo> decode_undo(ByteSpan bytes);

/// Walks over stored undo data in borrowed bytes, coin by coin, without decoding the rest.
/// Thread safety: one thread at a time.
class UndoReader {
 public:
    /// Errors: corrupt (cut off, or not what its checksum says).
    [[nodiscard]] static Result<UndoReader> open(ByteSpan bytes);
    /// Without a check. Requires: bytes that open() took, or encode_undo made.
    [[nodiscard]] static UndoReader of_checked(ByteSpan bytes);

    /// Transactions behind the coinbase.
    [[nodiscard]] std::size_t transaction_count() const { return transactions_; }
    /// Goes on to the next transaction's coins; answers how many. Requires: those before have been read.
    [[nodiscard]] std::size_t next_transaction();
    /// The next coin, valid until the next call; an empty one once the bytes are at fault.
    [[nodiscard]] const Coin& next_coin();
    [[nodiscard]] bool ok() const { return reader_.ok(); }

 private:
    explicit UndoReader(ByteSpan body);
    ByteReader reader_;
    std::size_t transactions_ = 0;
    Coin coin_;
};

}  // namespace blockpub
