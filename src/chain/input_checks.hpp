// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/coin.hpp"
#include "primitives/transaction.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

// The rules of a transaction that need the coins it spends, but no scripts.

namespace blockpub {

inline constexpr std::uint32_t kCoinbaseMaturity = 100;
/// In an input's sequence number: no relative lock time. Source: BIP 68.
inline constexpr std::uint32_t kSequenceDisabled = 1U << 31;
inline constexpr std::int64_t kMaxBlockSigopsCost = 80'000;

/// The coins that a transaction spends, one for each input, in their order.
using SpentCoins = std::vector<Coin>;

/// Maturity, amounts and the fee of a transaction that is not a coinbase, in a block at `height`.
/// Result: the reject reason; empty with `fee` set when all is well.
/// Source: Bitcoin Core v28.1 src/consensus/tx_verify.cpp, CheckTxInputs.
[[nodiscard]] std::string check_inputs(const TransactionView& transaction, std::span<const Coin> spent,
                                       Height height, Amount& fee);

/// Core's message beside a reason that check_inputs gave for the same arguments; empty where it has none.
[[nodiscard]] std::string check_inputs_message(const std::string& reason, const TransactionView& transaction,
                                               std::span<const Coin> spent, Height height);

/// The relative lock times (BIP 68) of a transaction as the last height and the last median time at which
/// they still hold; -1: none.
struct SequenceLocks {
    std::int64_t height = -1;
    std::int64_t median_time = -1;
};

/// `median_time_at(height)` is the median time past of the active branch's block at a height.
/// Source: Bitcoin Core v28.1 src/consensus/tx_verify.cpp, CalculateSequenceLocks.
[[nodiscard]] SequenceLocks sequence_locks(const TransactionView& transaction,
                                           std::span<const Height> coin_heights,
                                           const std::function<std::int64_t(Height)>& median_time_at);

/// Cost of the signature operations of a transaction: legacy and P2SH ones count four times, those in
/// witnesses once. `spent` is empty for a coinbase. Source: Bitcoin Core v28.1 src/consensus/tx_verify.cpp,
/// GetTransactionSigOpCost.
[[nodiscard]] std::int64_t sigops_cost(const TransactionView& transaction, std::span<const Coin> spent);

/// Sum of the outputs. Requires: each, and the sum, has been checked to be in range.
[[nodiscard]] Amount value_out(const TransactionView& transaction);

}  // namespace blockpub
