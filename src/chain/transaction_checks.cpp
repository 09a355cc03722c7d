// SPDX-License-Identifier: MIT
#include "chain/transaction_checks.hpp"

#include "primitives/block.hpp"

#include <algorithm>

namespace blockpub {
namespace {

constexpr std::size_t kMinCoinbaseScript = 2;
constexpr std::size_t kMaxCoinbaseScript = 100;
constexpr std::uint32_t kLockTimeThreshold = 500'000'000;  ///< below: a height; from here on: a time
constexpr std::uint32_t kFinalSequence = 0xffffffff;

const char* check_outputs(const TransactionView& transaction) {
    const char* broken = nullptr;
    Amount total = 0;
    transaction.for_each_output([&](std::size_t, const TxOutput& output) {
        if (output.amount < 0) {
            broken = "bad-txns-vout-negative";
        } else if (output.amount > kMaxMoney) {
            broken = "bad-txns-vout-toolarge";
        } else if (total += output.amount; !is_in_money_range(total)) {
            broken = "bad-txns-txouttotal-toolarge";
        }
        return broken == nullptr;
    });
    return broken;
}

/// Whether an outpoint occurs twice. (CVE-2018-17144)
bool has_duplicate_inputs(const TransactionView& transaction, std::vector<Outpoint>& scratch) {
    if (transaction.input_count() < 2) return false;
    scratch.clear();
    transaction.for_each_input([&](std::size_t, const TxInput& input) {
        scratch.push_back(input.prevout);
        return true;
    });
    std::ranges::sort(scratch);
    return std::ranges::adjacent_find(scratch) != scratch.end();
}

const char* check_input_scripts(const TransactionView& transaction) {
    const bool coinbase = transaction.is_coinbase();
    const char* broken = nullptr;
    transaction.for_each_input([&](std::size_t, const TxInput& input) {
        if (coinbase) {
            const bool fits =
                input.script.size() >= kMinCoinbaseScript && input.script.size() <= kMaxCoinbaseScript;
            if (!fits) broken = "bad-cb-length";
        } else if (input.prevout.is_null()) {
            broken = "bad-txns-prevout-null";
        }
        return broken == nullptr;
    });
    return broken;
}

}  // namespace

const char* check_transaction(const TransactionView& transaction, std::vector<Outpoint>& scratch) {
    if (transaction.input_count() == 0) return "bad-txns-vin-empty";
    if (transaction.output_count() == 0) return "bad-txns-vout-empty";
    if (transaction.stripped_size() * kWitnessScale > kMaxBlockWeight) return "bad-txns-oversize";
    if (const char* broken = check_outputs(transaction)) return broken;
    if (has_duplicate_inputs(transaction, scratch)) return "bad-txns-inputs-duplicate";
    return check_input_scripts(transaction);
}

bool is_final(const TransactionView& transaction, Height height, std::int64_t lock_time_cutoff) {
    const std::uint32_t lock_time = transaction.lock_time();
    const std::int64_t reached =
        lock_time < kLockTimeThreshold ? std::int64_t{height.value} : lock_time_cutoff;
    if (lock_time == 0 || std::int64_t{lock_time} < reached) return true;
    bool all_final = true;
    transaction.for_each_input([&](std::size_t, const TxInput& input) {
        all_final = input.sequence == kFinalSequence;
        return all_final;
    });
    return all_final;
}

}  // namespace blockpub
