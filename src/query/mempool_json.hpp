// SPDX-License-Identifier: MIT
#pragma once

#include "chain/mempool_board.hpp"
#include "chain/mempool_outcome.hpp"
#include "query/json_writer.hpp"
#include "query/rpc_error.hpp"

#include <expected>
#include <string_view>

// What the mempool methods answer, with bitcoind's members in its order.
// Source: Bitcoin Core v28.1 src/rpc/mempool.cpp.

namespace blockpub {

void write_amount(JsonWriter& out, std::string_view name, Amount amount);
/// One transaction as getmempoolentry shows it.
void write_entry(JsonWriter& out, const MempoolRowDetails& details);
void write_summary(JsonWriter& out, const MempoolSummary& summary);
/// `effective-feerate` and `effective-includes` of an accepted transaction.
void write_effective_rate(JsonWriter& out, const TransactionOutcome& outcome);
/// The error of a call of the service that was not carried out.
[[nodiscard]] std::unexpected<RpcError> mempool_failure(const Error& error);

}  // namespace blockpub
