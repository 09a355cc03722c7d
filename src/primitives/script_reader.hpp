// SPDX-License-Identifier: MIT
#pragma once

#include "base/endian.hpp"
#include "primitives/opcodes.hpp"

#include <blockpub/bytes.hpp>

#include <cstddef>
#include <cstdint>

namespace blockpub {

/// One instruction of a script, and what it pushes.
struct ScriptInstruction {
    std::uint8_t opcode = 0xff;
    ByteSpan data;
};

/// Walks over the instructions of a script in borrowed bytes.
/// Thread safety: distinct objects safe.
/// Source: Bitcoin Core src/script/script.cpp, GetScriptOp.
class ScriptReader {
 public:
    explicit ScriptReader(ByteSpan script) : rest_(script) {}

    [[nodiscard]] bool done() const { return rest_.empty(); }
    [[nodiscard]] std::size_t remaining() const { return rest_.size(); }
    /// Takes one instruction. False, and nothing taken, at the end and where a push is cut short.
    [[nodiscard]] bool next(ScriptInstruction& instruction) {
        instruction = {};
        if (rest_.empty()) return false;
        const std::uint8_t opcode = rest_.front();
        if (opcode > kOpPushData4) {
            instruction.opcode = opcode;
            rest_ = rest_.subspan(1);
            return true;
        }
        std::size_t width = 0;
        std::size_t size = opcode;
        if (opcode == kOpPushData1) width = 1;
        if (opcode == kOpPushData2) width = 2;
        if (opcode == kOpPushData4) width = 4;
        if (rest_.size() - 1 < width) return false;
        if (width == 1) size = rest_[1];
        if (width == 2) size = read_le<std::uint16_t>(rest_.data() + 1);
        if (width == 4) size = read_le<std::uint32_t>(rest_.data() + 1);
        if (rest_.size() - 1 - width < size) return false;
        instruction = {.opcode = opcode, .data = rest_.subspan(1 + width, size)};
        rest_ = rest_.subspan(1 + width + size);
        return true;
    }

 private:
    ByteSpan rest_;
};

}  // namespace blockpub
