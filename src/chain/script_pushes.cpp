// SPDX-License-Identifier: MIT
#include "chain/script_pushes.hpp"

#include "primitives/opcodes.hpp"
#include "primitives/reader.hpp"

namespace blockpub {
namespace {

constexpr std::uint8_t kOp1Negate = 0x4f;
constexpr std::uint8_t kMaxOpcode = 0xb9;  // OP_NOP10
constexpr std::size_t kMaxElement = 520;

struct Instruction {
    std::uint8_t opcode = 0;
    ByteSpan data;
};

/// The next instruction; nothing at the end, or where it is cut off (then the reader has failed).
std::optional<Instruction> next_instruction(ByteReader& reader) {
    if (reader.remaining() == 0) return std::nullopt;
    Instruction instruction;
    instruction.opcode = reader.le<std::uint8_t>();
    if (instruction.opcode > kOpPushData4) return instruction;
    std::uint64_t size = instruction.opcode < kOpPushData1 ? instruction.opcode : 0;
    if (instruction.opcode == kOpPushData1) size = reader.le<std::uint8_t>();
    if (instruction.opcode == kOpPushData2) size = reader.le<std::uint16_t>();
    if (instruction.opcode == kOpPushData4) size = reader.le<std::uint32_t>();
    instruction.data = reader.take(size);
    if (!reader.ok()) return std::nullopt;
    return instruction;
}

}  // namespace

bool is_push_only(ByteSpan script) {
    ByteReader reader(script);
    while (const auto instruction = next_instruction(reader)) {
        if (instruction->opcode > kOp16) return false;
    }
    return reader.ok();
}

std::optional<std::vector<std::uint8_t>> top_of_pushes(ByteSpan script) {
    std::optional<std::vector<std::uint8_t>> top;
    ByteReader reader(script);
    while (const auto instruction = next_instruction(reader)) {
        const std::uint8_t opcode = instruction->opcode;
        if (opcode > kOp16 || instruction->data.size() > kMaxElement) return std::nullopt;
        if (opcode == kOp1Negate) {
            top = {0x81};
        } else if (opcode >= kOp1) {
            top = {static_cast<std::uint8_t>(opcode - kOp1 + 1)};
        } else if (opcode > kOpPushData4) {
            return std::nullopt;  // OP_RESERVED
        } else {
            top.emplace(instruction->data.begin(), instruction->data.end());
        }
    }
    if (!reader.ok()) return std::nullopt;
    return top;
}

bool has_valid_instructions(ByteSpan script) {
    ByteReader reader(script);
    while (const auto instruction = next_instruction(reader)) {
        if (instruction->opcode > kMaxOpcode || instruction->data.size() > kMaxElement) return false;
    }
    return reader.ok();
}

}  // namespace blockpub
