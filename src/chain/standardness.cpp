// SPDX-License-Identifier: MIT
#include "chain/standardness.hpp"

#include "chain/script_pushes.hpp"
#include "primitives/block.hpp"
#include "primitives/compact_size.hpp"
#include "primitives/output_type.hpp"
#include "primitives/script.hpp"

#include <algorithm>
#include <vector>

namespace blockpub {
namespace {

constexpr std::uint32_t kLargestStandardVersion = 3;
constexpr std::size_t kMaxStandardWeight = 400'000;
constexpr std::size_t kMaxStandardInputScript = 1650;
constexpr std::size_t kMaxStandardMultisigKeys = 3;
constexpr unsigned kMaxScriptHashSigops = 15;
constexpr std::size_t kMaxWitnessScript = 3600;
constexpr std::size_t kMaxWitnessItems = 100;
constexpr std::size_t kMaxWitnessItem = 80;
constexpr std::uint8_t kAnnexTag = 0x50;
constexpr std::uint8_t kLeafMask = 0xfe;
constexpr std::uint8_t kTapscriptLeaf = 0xc0;

// An input that spends an output: its outpoint, sequence and script size, and a signature with its key.
constexpr std::size_t kInputFrame = 32 + 4 + 1 + 4;
constexpr std::size_t kKeySpend = 107;

/// Whether spending the output would cost more than a third of it.
bool is_dust(const TxOutput& output, FeeRate rate) {
    if (is_unspendable(output.script)) return output.amount < 0;
    const bool witness = witness_program(output.script).has_value();
    const std::size_t size = 8 + compact_size_length(output.script.size()) + output.script.size() +
                             kInputFrame + (witness ? kKeySpend / kWitnessScale : kKeySpend);
    return output.amount < rate.fee_for(static_cast<std::int64_t>(size));
}

std::string check_output(const TxOutput& output, const MempoolPolicy& policy, unsigned& data_outputs) {
    const OutputType type = output_type(output.script);
    if (type == OutputType::nonstandard) return "scriptpubkey";
    MultisigScript multisig;
    if (type == OutputType::multisig && match_multisig(output.script, multisig) &&
        multisig.count > kMaxStandardMultisigKeys) {
        return "scriptpubkey";
    }
    if (type == OutputType::nulldata) {
        const auto& limit = policy.max_datacarrier_bytes;
        if (!limit || output.script.size() > *limit) return "scriptpubkey";
        ++data_outputs;
    } else if (type == OutputType::multisig && !policy.permit_bare_multisig) {
        return "bare-multisig";
    } else if (is_dust(output, policy.dust_relay)) {
        return "dust";
    }
    return {};
}

std::string check_standard_input(const TxInput& input) {
    if (input.script.size() > kMaxStandardInputScript) return "scriptsig-size";
    if (!is_push_only(input.script)) return "scriptsig-not-pushonly";
    return {};
}

using Witness = std::vector<ByteSpan>;

std::vector<Witness> witnesses_of(const TransactionView& transaction) {
    std::vector<Witness> witnesses(transaction.input_count());
    transaction.for_each_witness_item([&](std::size_t input, std::size_t, ByteSpan item) {
        witnesses[input].push_back(item);
        return true;
    });
    return witnesses;
}

bool is_script_witness_standard(const Witness& witness) {
    if (witness.back().size() > kMaxWitnessScript || witness.size() - 1 > kMaxWitnessItems) return false;
    return std::all_of(witness.begin(), witness.end() - 1,
                       [](ByteSpan item) { return item.size() <= kMaxWitnessItem; });
}

bool is_taproot_witness_standard(const Witness& witness) {
    // An annex has no meaning yet.
    if (witness.size() < 2) return true;
    if (!witness.back().empty() && witness.back()[0] == kAnnexTag) return false;
    const ByteSpan control = witness.back();
    if (control.empty()) return false;
    if ((control[0] & kLeafMask) != kTapscriptLeaf) return true;
    return std::all_of(witness.begin(), witness.end() - 2,
                       [](ByteSpan item) { return item.size() <= kMaxWitnessItem; });
}

bool is_one_witness_standard(const TxInput& input, const Coin& coin, const Witness& witness) {
    if (witness.empty()) return true;
    const OutputType type = output_type(coin.script);
    if (type == OutputType::anchor) return false;
    std::vector<std::uint8_t> script(coin.script.begin(), coin.script.end());
    if (type == OutputType::scripthash) {
        auto redeem = top_of_pushes(input.script);
        if (!redeem) return false;
        script = std::move(*redeem);
    }
    const auto program = witness_program(script);
    if (!program) return false;
    constexpr std::size_t kScriptHashSize = 32;
    if (program->version == 0 && program->program.size() == kScriptHashSize)
        return is_script_witness_standard(witness);
    if (program->version == 1 && program->program.size() == kScriptHashSize && type != OutputType::scripthash)
        return is_taproot_witness_standard(witness);
    return true;
}

}  // namespace

std::string check_standard(const TransactionView& transaction, const MempoolPolicy& policy) {
    const auto version = static_cast<std::uint32_t>(transaction.version());
    if (version < 1 || version > kLargestStandardVersion) return "version";
    if (transaction.weight() > kMaxStandardWeight) return "tx-size";
    std::string broken;
    transaction.for_each_input([&](std::size_t, const TxInput& input) {
        broken = check_standard_input(input);
        return broken.empty();
    });
    if (!broken.empty()) return broken;
    unsigned data_outputs = 0;
    transaction.for_each_output([&](std::size_t, const TxOutput& output) {
        broken = check_output(output, policy, data_outputs);
        return broken.empty();
    });
    if (!broken.empty()) return broken;
    return data_outputs > 1 ? "multi-op-return" : "";
}

bool are_inputs_standard(const TransactionView& transaction, std::span<const Coin> spent) {
    bool standard = true;
    transaction.for_each_input([&](std::size_t position, const TxInput& input) {
        const OutputType type = output_type(spent[position].script);
        if (type == OutputType::nonstandard || type == OutputType::witness_unknown) {
            standard = false;
        } else if (type == OutputType::scripthash) {
            const auto redeem = top_of_pushes(input.script);
            standard = redeem && count_sigops(*redeem, true) <= kMaxScriptHashSigops;
        }
        return standard;
    });
    return standard;
}

bool is_witness_standard(const TransactionView& transaction, std::span<const Coin> spent) {
    const std::vector<Witness> witnesses = witnesses_of(transaction);
    bool standard = true;
    transaction.for_each_input([&](std::size_t position, const TxInput& input) {
        standard = is_one_witness_standard(input, spent[position], witnesses[position]);
        return standard;
    });
    return standard;
}

std::int64_t policy_vsize(std::size_t weight, std::int64_t sigops_cost, unsigned bytes_per_sigop) {
    const std::int64_t larger = std::max<std::int64_t>(static_cast<std::int64_t>(weight),
                                                       sigops_cost * std::int64_t{bytes_per_sigop});
    constexpr auto kScale = static_cast<std::int64_t>(kWitnessScale);
    return (larger + kScale - 1) / kScale;
}

bool is_burnt(ByteSpan script) {
    return is_unspendable(script) || !has_valid_instructions(script);
}

}  // namespace blockpub
