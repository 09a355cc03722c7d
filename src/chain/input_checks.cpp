// SPDX-License-Identifier: MIT
#include "chain/input_checks.hpp"

#include "primitives/block.hpp"
#include "primitives/fee_rate.hpp"
#include "primitives/opcodes.hpp"
#include "primitives/output_type.hpp"
#include "primitives/script.hpp"
#include "primitives/script_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace blockpub {
namespace {

constexpr std::uint32_t kSequenceIsTime = 1U << 22;
constexpr std::uint32_t kSequenceMask = 0xffff;
constexpr int kSequenceGranularity = 9;  // 512 seconds

/// What the last operation of a script of pushes puts on the stack; nothing for a script that is more than
/// pushes, or cut off. Numbers and an empty script push nothing that could be a script.
std::optional<ByteSpan> last_push(ByteSpan script) {
    ScriptReader reader(script);
    ScriptInstruction instruction;
    ByteSpan data;
    while (reader.next(instruction)) {
        if (instruction.opcode > kOp16) return std::nullopt;
        data = instruction.data;
    }
    if (!reader.done()) return std::nullopt;
    return data;
}

/// The last witness item of each input.
std::vector<std::optional<ByteSpan>> last_witness_items(const TransactionView& transaction) {
    std::vector<std::optional<ByteSpan>> items(transaction.input_count());
    transaction.for_each_witness_item([&](std::size_t input, std::size_t, ByteSpan item) {
        items[input] = item;
        return true;
    });
    return items;
}

}  // namespace

Amount value_out(const TransactionView& transaction) {
    Amount sum = 0;
    transaction.for_each_output([&](std::size_t, const TxOutput& output) {
        sum += output.amount;
        return true;
    });
    return sum;
}

std::string check_inputs(const TransactionView& transaction, std::span<const Coin> spent, Height height,
                         Amount& fee) {
    Amount value_in = 0;
    for (const Coin& coin : spent) {
        if (coin.coinbase && height.value - coin.height.value < kCoinbaseMaturity) {
            return "bad-txns-premature-spend-of-coinbase";
        }
        value_in += coin.amount;
        if (!is_in_money_range(coin.amount) || !is_in_money_range(value_in))
            return "bad-txns-inputvalues-outofrange";
    }
    const Amount out = value_out(transaction);
    if (value_in < out) return "bad-txns-in-belowout";
    fee = value_in - out;
    if (!is_in_money_range(fee)) return "bad-txns-fee-outofrange";
    return {};
}

std::string check_inputs_message(const std::string& reason, const TransactionView& transaction,
                                 std::span<const Coin> spent, Height height) {
    if (reason == "bad-txns-premature-spend-of-coinbase") {
        const auto young = std::ranges::find_if(spent, [&](const Coin& coin) {
            return coin.coinbase && height.value - coin.height.value < kCoinbaseMaturity;
        });
        return fmt::format("tried to spend coinbase at depth {}", height.value - young->height.value);
    }
    if (reason == "bad-txns-in-belowout") {
        Amount value_in = 0;
        for (const Coin& coin : spent) value_in += coin.amount;
        return fmt::format("value in ({}) < value out ({})", format_money(value_in),
                           format_money(value_out(transaction)));
    }
    return {};
}

SequenceLocks sequence_locks(const TransactionView& transaction, std::span<const Height> coin_heights,
                             const std::function<std::int64_t(Height)>& median_time_at) {
    SequenceLocks locks;
    // Core compares the version as unsigned.
    if (static_cast<std::uint32_t>(transaction.version()) < 2) return locks;
    transaction.for_each_input([&](std::size_t position, const TxInput& input) {
        if ((input.sequence & kSequenceDisabled) != 0) return true;
        const std::uint32_t coin_height = coin_heights[position].value;
        const std::int64_t wait = input.sequence & kSequenceMask;
        if ((input.sequence & kSequenceIsTime) != 0) {
            // Counted from the median time of the block before the coin's.
            const std::int64_t since = median_time_at(Height{coin_height == 0 ? 0 : coin_height - 1});
            locks.median_time = std::max(locks.median_time, since + (wait << kSequenceGranularity) - 1);
        } else {
            locks.height = std::max(locks.height, coin_height + wait - 1);
        }
        return true;
    });
    return locks;
}

std::int64_t sigops_cost(const TransactionView& transaction, std::span<const Coin> spent) {
    constexpr auto kScale = static_cast<std::int64_t>(kWitnessScale);
    std::int64_t cost = 0;
    transaction.for_each_output([&](std::size_t, const TxOutput& output) {
        cost += kScale * count_sigops(output.script, false);
        return true;
    });
    // Only scripts in witnesses make it worthwhile to look for them.
    std::optional<std::vector<std::optional<ByteSpan>>> items;
    const auto witness_cost = [&](const WitnessProgram& program, std::size_t position) {
        if (program.version != 0) return 0U;
        if (program.program.size() == 20) return 1U;
        if (program.program.size() != 32) return 0U;
        if (!items) items = last_witness_items(transaction);
        return (*items)[position] ? count_sigops(*(*items)[position], true) : 0U;
    };
    transaction.for_each_input([&](std::size_t position, const TxInput& input) {
        cost += kScale * count_sigops(input.script, false);
        if (spent.empty()) return true;
        const ByteSpan script = spent[position].script;
        if (const auto program = witness_program(script)) {
            cost += witness_cost(*program, position);
        } else if (is_pay_to_script_hash(script)) {
            const auto redeem = last_push(input.script);
            if (!redeem) return true;
            cost += kScale * count_sigops(*redeem, true);
            if (const auto nested = witness_program(*redeem)) cost += witness_cost(*nested, position);
        }
        return true;
    });
    return cost;
}

}  // namespace blockpub
