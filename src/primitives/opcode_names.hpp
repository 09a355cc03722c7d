// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

namespace blockpub {

/// Name of an instruction as bitcoind shows it; pushes of bytes have none of their own and are unknown.
/// Source: Bitcoin Core v28 src/script/script.cpp, GetOpName.
[[nodiscard]] std::string_view opcode_name(std::uint8_t opcode);

}  // namespace blockpub
