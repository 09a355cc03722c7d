// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/coin.hpp"
#include "primitives/transaction.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/hash.hpp>
#include <blockpub/result.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace blockpub {

class MempoolTransaction;
using TransactionRef = std::shared_ptr<const MempoolTransaction>;

/// A transaction outside of a block: its bytes, and what is asked of it again and again.
/// Thread safety: immutable.
/// Ownership: keeps the bytes alive.
class MempoolTransaction {
 public:
    /// Decodes bytes that are one whole transaction. Errors: corrupt.
    [[nodiscard]] static Result<TransactionRef> decode(SharedBytes raw);

    [[nodiscard]] const SharedBytes& raw() const { return raw_; }
    [[nodiscard]] const TransactionView& view() const { return view_; }
    [[nodiscard]] const Txid& txid() const { return txid_; }
    [[nodiscard]] const Wtxid& wtxid() const { return wtxid_; }
    /// What it spends, in the order of its inputs.
    [[nodiscard]] const std::vector<Outpoint>& spends() const { return spends_; }
    [[nodiscard]] std::size_t output_count() const { return view_.output_count(); }
    /// An output as a coin, its height left out; nothing beyond the last one.
    [[nodiscard]] std::optional<Coin> output(std::uint32_t position) const;
    [[nodiscard]] std::size_t weight() const { return view_.weight(); }
    [[nodiscard]] std::uint32_t version() const { return static_cast<std::uint32_t>(view_.version()); }
    /// Whether an input says that the transaction may be replaced (BIP 125).
    [[nodiscard]] bool signals_replacement() const { return signals_replacement_; }
    /// Heap memory, roughly.
    [[nodiscard]] std::size_t memory() const;

 private:
    MempoolTransaction(SharedBytes raw, const TransactionView& view);

    SharedBytes raw_;
    TransactionView view_;  // into raw_
    Txid txid_;
    Wtxid wtxid_;
    std::vector<Outpoint> spends_;
    bool signals_replacement_ = false;
};

}  // namespace blockpub
