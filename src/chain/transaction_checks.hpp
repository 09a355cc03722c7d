// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/transaction.hpp"

#include <blockpub/hash.hpp>

#include <cstdint>
#include <vector>

// The rules of a transaction that need nothing but itself.

namespace blockpub {

/// The first rule that a transaction breaks by itself, in Core's words; null when none. `scratch` saves
/// allocations between calls. Source: Bitcoin Core v28.1 src/consensus/tx_check.cpp, CheckTransaction.
[[nodiscard]] const char* check_transaction(const TransactionView& transaction,
                                            std::vector<Outpoint>& scratch);

/// Whether the transaction's lock time has passed in a block at `height`, or does not count.
/// `lock_time_cutoff` is what times are held against. Source: Bitcoin Core v28.1
/// src/consensus/tx_verify.cpp, IsFinalTx.
[[nodiscard]] bool is_final(const TransactionView& transaction, Height height, std::int64_t lock_time_cutoff);

}  // namespace blockpub
