// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/coin.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/result.hpp>

#include <vector>

namespace blockpub {

/// The coins that a block spent: for each transaction behind the coinbase, one for each input, in their
/// order.
using BlockUndo = std::vector<std::vector<Coin>>;

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
