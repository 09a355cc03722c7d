// SPDX-License-Identifier: MIT
#include "primitives/output_type.hpp"

#include "primitives/opcodes.hpp"
#include "primitives/public_key.hpp"
#include "primitives/script.hpp"
#include "primitives/script_reader.hpp"

namespace blockpub {
namespace {

constexpr std::size_t kKeyHashSize = 20;
constexpr std::size_t kWideHashSize = 32;
constexpr std::size_t kMinWitnessScript = 4;
constexpr std::size_t kMaxWitnessScript = 42;

bool is_pay_to_pubkey_hash(ByteSpan script) {
    return script.size() == 25 && script[0] == kOpDup && script[1] == kOpHash160 &&
           script[2] == kKeyHashSize && script[23] == kOpEqualVerify && script[24] == kOpCheckSig;
}

bool is_pay_to_pubkey(ByteSpan script) {
    if (script.size() != kCompressedKeySize + 2 && script.size() != kUncompressedKeySize + 2) return false;
    return script.front() == script.size() - 2 && script.back() == kOpCheckSig &&
           has_public_key_size(pay_to_pubkey_key(script));
}

bool is_anchor(const WitnessProgram& witness) {
    return witness.version == 1 && witness.program.size() == 2 && witness.program[0] == 0x4e &&
           witness.program[1] == 0x73;
}

/// A count from 1 to 20 in its shortest form; 17 to 20 take a push of one byte.
std::optional<unsigned> multisig_number(const ScriptInstruction& instruction) {
    if (instruction.opcode >= kOp1 && instruction.opcode <= kOp16) return instruction.opcode - kOp1 + 1u;
    if (instruction.opcode != 1) return std::nullopt;
    const std::uint8_t number = instruction.data.front();
    if (number <= 16 || number > MultisigScript::kMaxKeys) return std::nullopt;
    return number;
}

OutputType witness_type(const WitnessProgram& witness) {
    const std::size_t size = witness.program.size();
    if (witness.version == 0) {
        if (size == kKeyHashSize) return OutputType::witness_v0_keyhash;
        return size == kWideHashSize ? OutputType::witness_v0_scripthash : OutputType::nonstandard;
    }
    if (witness.version == 1 && size == kWideHashSize) return OutputType::witness_v1_taproot;
    return is_anchor(witness) ? OutputType::anchor : OutputType::witness_unknown;
}

}  // namespace

bool is_pay_to_script_hash(ByteSpan script) {
    return script.size() == 23 && script[0] == kOpHash160 && script[1] == kKeyHashSize &&
           script[22] == kOpEqual;
}

std::optional<WitnessProgram> witness_program(ByteSpan script) {
    if (script.size() < kMinWitnessScript || script.size() > kMaxWitnessScript ||
        script[1] != script.size() - 2) {
        return std::nullopt;
    }
    const std::uint8_t first = script.front();
    if (first != kOp0 && (first < kOp1 || first > kOp16)) return std::nullopt;
    return WitnessProgram{.version = first == kOp0 ? 0u : first - kOp1 + 1u, .program = script.subspan(2)};
}

bool match_multisig(ByteSpan script, MultisigScript& out) {
    if (script.empty() || script.back() != kOpCheckMultisig) return false;
    ScriptReader reader(script);
    ScriptInstruction instruction;
    if (!reader.next(instruction)) return false;
    const auto required = multisig_number(instruction);
    if (!required) return false;
    out.required = *required;
    out.count = 0;
    while (reader.next(instruction) && has_public_key_size(instruction.data)) {
        if (out.count == MultisigScript::kMaxKeys) return false;
        out.storage[out.count++] = instruction.data;
    }
    const auto count = multisig_number(instruction);
    return count && *count >= *required && *count == out.count && reader.remaining() == 1;
}

OutputType output_type(ByteSpan script) {
    if (is_pay_to_script_hash(script)) return OutputType::scripthash;
    if (const auto witness = witness_program(script)) return witness_type(*witness);
    if (!script.empty() && script[0] == kOpReturn && is_push_only(script.subspan(1)))
        return OutputType::nulldata;
    if (is_pay_to_pubkey(script)) return OutputType::pubkey;
    if (is_pay_to_pubkey_hash(script)) return OutputType::pubkeyhash;
    MultisigScript multisig;
    return match_multisig(script, multisig) ? OutputType::multisig : OutputType::nonstandard;
}

std::string_view output_type_name(OutputType type) {
    switch (type) {
        case OutputType::nonstandard:
            return "nonstandard";
        case OutputType::pubkey:
            return "pubkey";
        case OutputType::pubkeyhash:
            return "pubkeyhash";
        case OutputType::scripthash:
            return "scripthash";
        case OutputType::multisig:
            return "multisig";
        case OutputType::nulldata:
            return "nulldata";
        case OutputType::anchor:
            return "anchor";
        case OutputType::witness_v0_keyhash:
            return "witness_v0_keyhash";
        case OutputType::witness_v0_scripthash:
            return "witness_v0_scripthash";
        case OutputType::witness_v1_taproot:
            return "witness_v1_taproot";
        case OutputType::witness_unknown:
            return "witness_unknown";
    }
    return "";
}

}  // namespace blockpub
