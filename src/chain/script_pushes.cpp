// SPDX-License-Identifier: MIT
#include "chain/script_pushes.hpp"

#include "primitives/opcodes.hpp"
#include "primitives/script_reader.hpp"

namespace blockpub {
namespace {

constexpr std::uint8_t kMaxOpcode = 0xb9;  // OP_NOP10
constexpr std::size_t kMaxElement = 520;

}  // namespace

std::optional<std::vector<std::uint8_t>> top_of_pushes(ByteSpan script) {
    std::optional<std::vector<std::uint8_t>> top;
    ScriptReader reader(script);
    ScriptInstruction instruction;
    while (reader.next(instruction)) {
        const std::uint8_t opcode = instruction.opcode;
        if (opcode > kOp16 || instruction.data.size() > kMaxElement) return std::nullopt;
        if (opcode == kOp1Negate) {
            top = {0x81};
        } else if (opcode >= kOp1) {
            top = {static_cast<std::uint8_t>(opcode - kOp1 + 1)};
        } else if (opcode > kOpPushData4) {
            return std::nullopt;  // OP_RESERVED
        } else {
            top.emplace(instruction.data.begin(), instruction.data.end());
        }
    }
    if (!reader.done()) return std::nullopt;
    return top;
}

bool has_valid_instructions(ByteSpan script) {
    ScriptReader reader(script);
    ScriptInstruction instruction;
    while (reader.next(instruction)) {
        if (instruction.opcode > kMaxOpcode || instruction.data.size() > kMaxElement) return false;
    }
    return reader.done();
}

}  // namespace blockpub
