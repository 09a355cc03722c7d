// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace blockpub {

/// The script instructions that blockpub itself reads or writes.
inline constexpr std::uint8_t kOp0 = 0x00;
inline constexpr std::uint8_t kOpPushData1 = 0x4c;
inline constexpr std::uint8_t kOpPushData2 = 0x4d;
inline constexpr std::uint8_t kOpPushData4 = 0x4e;
inline constexpr std::uint8_t kOp1Negate = 0x4f;
inline constexpr std::uint8_t kOp1 = 0x51;
inline constexpr std::uint8_t kOp16 = 0x60;
inline constexpr std::uint8_t kOpReturn = 0x6a;
inline constexpr std::uint8_t kOpDup = 0x76;
inline constexpr std::uint8_t kOpEqual = 0x87;
inline constexpr std::uint8_t kOpEqualVerify = 0x88;
inline constexpr std::uint8_t kOpHash160 = 0xa9;
inline constexpr std::uint8_t kOpCheckSig = 0xac;
inline constexpr std::uint8_t kOpCheckSigVerify = 0xad;
inline constexpr std::uint8_t kOpCheckMultisig = 0xae;
inline constexpr std::uint8_t kOpCheckMultisigVerify = 0xaf;

}  // namespace blockpub
