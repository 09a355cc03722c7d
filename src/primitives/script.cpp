// SPDX-License-Identifier: MIT
#include "primitives/script.hpp"

#include "base/endian.hpp"
#include "primitives/opcodes.hpp"

#include <array>

namespace blockpub {
namespace {

constexpr unsigned kMaxKeysPerMultisig = 20;

// One instruction off the front of `script`. Result: false where it is cut short.
bool take_instruction(ByteSpan& script, std::uint8_t& opcode) {
    opcode = script.front();
    script = script.subspan(1);
    if (opcode > kOpPushData4) return true;
    std::size_t width = 0;
    std::size_t size = opcode;
    if (opcode == kOpPushData1) width = 1;
    if (opcode == kOpPushData2) width = 2;
    if (opcode == kOpPushData4) width = 4;
    if (script.size() < width) return false;
    if (width == 1) size = script.front();
    if (width == 2) size = read_le<std::uint16_t>(script.data());
    if (width == 4) size = read_le<std::uint32_t>(script.data());
    if (script.size() - width < size) return false;
    script = script.subspan(width + size);
    return true;
}

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

unsigned count_sigops(ByteSpan script, bool accurate) {
    unsigned count = 0;
    std::uint8_t last = 0xff;
    while (!script.empty()) {
        std::uint8_t opcode = 0;
        if (!take_instruction(script, opcode)) break;
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
