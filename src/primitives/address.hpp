// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/chain_params.hpp"
#include "primitives/output_type.hpp"
#include "primitives/script.hpp"

#include <blockpub/bytes.hpp>

#include <optional>
#include <string>

namespace blockpub {

/// Address of a script on the given chain: P2PKH, P2SH and witness programs of every version; nothing for the
/// others. Its reverse, address_to_script, is in script.hpp.
[[nodiscard]] std::optional<std::string> script_to_address(ByteSpan script, const ChainParams& params);

/// Longest address: a prefix of four, `1`, version, a program of 40 bytes, checksum.
inline constexpr std::size_t kMaxAddressLength = 90;
/// The same without an allocation: writes to `out` and answers how much, 0 for a script without address.
/// Requires: `type` is the script's; room for kMaxAddressLength.
[[nodiscard]] std::size_t encode_address_to(ByteSpan script, OutputType type, const ChainParams& params,
                                            char* out);

/// `OP_DUP OP_HASH160 hash OP_EQUALVERIFY OP_CHECKSIG`.
[[nodiscard]] Script pay_to_pubkey_hash(ByteSpan hash);
/// `OP_HASH160 hash OP_EQUAL`.
[[nodiscard]] Script pay_to_script_hash(ByteSpan hash);
/// A witness program. Requires: version at most 16, 2 to 40 bytes.
[[nodiscard]] Script pay_to_witness(unsigned version, ByteSpan program);

}  // namespace blockpub
