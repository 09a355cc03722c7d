// SPDX-License-Identifier: MIT
#pragma once

#include "chain/mempool_options.hpp"
#include "primitives/coin.hpp"
#include "primitives/transaction.hpp"

#include <cstdint>
#include <span>
#include <string>

// What a node is willing to relay, beyond what a block may hold.
// Source: Bitcoin Core v28.1 src/policy/policy.cpp.

namespace blockpub {

/// The first policy that the transaction breaks by itself: version, tx-size, scriptsig-size,
/// scriptsig-not-pushonly, scriptpubkey, bare-multisig, dust, multi-op-return; empty for none.
[[nodiscard]] std::string check_standard(const TransactionView& transaction, const MempoolPolicy& policy);

/// Whether the coins are of a known kind, and a script hash hides no more than 15 signature operations.
/// `spent` has a coin for each input.
[[nodiscard]] bool are_inputs_standard(const TransactionView& transaction, std::span<const Coin> spent);

/// Whether each witness belongs to a witness program and keeps the limits on its items.
[[nodiscard]] bool is_witness_standard(const TransactionView& transaction, std::span<const Coin> spent);

/// Size in virtual bytes, where signature operations may count for more than the bytes.
[[nodiscard]] std::int64_t policy_vsize(std::size_t weight, std::int64_t sigops_cost,
                                        unsigned bytes_per_sigop);

/// Whether an output can be seen never to be spendable: by is_unspendable, or an instruction that is cut off
/// or too long. (maxburnamount)
[[nodiscard]] bool is_burnt(ByteSpan script);

}  // namespace blockpub
