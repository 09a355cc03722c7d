// SPDX-License-Identifier: MIT
#include "primitives/script.hpp"

#include "base/endian.hpp"
#include "primitives/opcodes.hpp"
#include "primitives/script_reader.hpp"

#include <array>

namespace blockpub {
namespace {

constexpr unsigned kMaxKeysPerMultisig = 20;

}  // namespace

void push_data(Script& script, ByteSpan data) {
    const std::size_t size = data.size();
    if (size < kOpPushData1) {
        script.push_back(static_cast<std::uint8_t>(size));
    } else if (size <= 0xff) {
        script.push_back(kOpPushData1);
        script.push_back(static_cast<std::uint8_t>(size));
    } else {
        std::array<std::uint8_t, 4> width;
        write_le(width.data(), static_cast<std::uint32_t>(size));
        script.push_back(size <= 0xffff ? kOpPushData2 : kOpPushData4);
        script.insert(script.end(), width.begin(), width.begin() + (size <= 0xffff ? 2 : 4));
    }
    script.insert(script.end(), data.begin(), data.end());
}

void push_number(Script& script, std::int64_t number) {
    if (number == 0 || number == -1 || (number >= 1 && number <= 16)) {
        script.push_back(number == 0 ? kOp0 : static_cast<std::uint8_t>(kOp1 - 1 + number));
        return;
    }
    // Little-endian magnitude, the sign in the highest bit of the last byte.
    std::uint64_t magnitude = number < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(number)
                                         : static_cast<std::uint64_t>(number);
    std::vector<std::uint8_t> bytes;
    for (; magnitude != 0; magnitude >>= 8) bytes.push_back(static_cast<std::uint8_t>(magnitude));
    if ((bytes.back() & 0x80) != 0) bytes.push_back(0);
    if (number < 0) bytes.back() |= 0x80;
    push_data(script, bytes);
}

bool is_push_only(ByteSpan script) {
    ScriptReader reader(script);
    ScriptInstruction instruction;
    while (reader.next(instruction)) {
        if (instruction.opcode > kOp16) return false;
    }
    return reader.done();
}

unsigned count_sigops(ByteSpan script, bool accurate) {
    unsigned count = 0;
    std::uint8_t last = 0xff;
    ScriptReader reader(script);
    ScriptInstruction instruction;
    while (reader.next(instruction)) {
        const std::uint8_t opcode = instruction.opcode;
        if (opcode == kOpCheckSig || opcode == kOpCheckSigVerify) {
            ++count;
        } else if (opcode == kOpCheckMultisig || opcode == kOpCheckMultisigVerify) {
            count += accurate && last >= kOp1 && last <= kOp16 ? last - kOp1 + 1u : kMaxKeysPerMultisig;
        }
        last = opcode;
    }
    return count;
}

}  // namespace blockpub
