// SPDX-License-Identifier: MIT
#pragma once

#include "base/text_appender.hpp"
#include "chain/undo.hpp"
#include "primitives/chain_params.hpp"
#include "primitives/transaction.hpp"
#include "query/json_writer.hpp"
#include "query/script_json.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/result.hpp>

namespace blockpub {

/// What is told of a transaction beside what it says itself.
struct TransactionDetail {
    ByteSpan txid;                ///< in wire order, where it is known; else it is worked out
    UndoReader* spent = nullptr;  ///< before this transaction's coins: makes `fee`; null for a coinbase
    bool prevouts = false;        ///< and each input's `prevout` from them
    bool hex = true;
};

/// Appends transactions as JSON, to the byte as bitcoind does. Allocates nothing but the text.
///
/// Thread safety: one thread at a time.
/// Ownership: borrows both.
/// Source: Bitcoin Core v28 src/core_write.cpp, TxToUniv.
class TransactionWriter {
 public:
    TransactionWriter(TextAppender& out, const ChainParams& params) : out_(out), scripts_(out, params) {}

    /// The members of the object, without its braces, from `txid` to `fee` or `hex`.
    /// Errors: corrupt, where the coins do not belong to the transaction; half of it has been appended then.
    [[nodiscard]] Result<void> append_members(const TransactionView& transaction,
                                              const TransactionDetail& detail);

 private:
    void append_head(const TransactionView& transaction, const TransactionDetail& detail);
    void append_input(const TxInput& input, bool coinbase, ByteReader& witness, const Coin* spent,
                      bool prevout);
    void append_witness(ByteReader& witness);
    [[nodiscard]] Result<Amount> append_inputs(const TransactionView& transaction,
                                               const TransactionDetail& detail);
    [[nodiscard]] Amount append_outputs(const TransactionView& transaction);

    TextAppender& out_;
    OutputScriptWriter scripts_;
};

/// The same as members of the object that is open in `out`.
[[nodiscard]] Result<void> write_transaction_members(JsonWriter& out, const TransactionView& transaction,
                                                     const TransactionDetail& detail,
                                                     const ChainParams& params);

}  // namespace blockpub
