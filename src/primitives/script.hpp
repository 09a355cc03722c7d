// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/chain_params.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/result.hpp>

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

using Script = std::vector<std::uint8_t>;

/// Appends the shortest push of `data`, as CScript's operator<< does.
void push_data(Script& script, ByteSpan data);
/// Appends a number as a script number push (OP_0, OP_1..16, OP_1NEGATE, or bytes), as CScript's operator<<.
void push_number(Script& script, std::int64_t number);

/// Whether the script only pushes, and is whole. Source: Bitcoin Core src/script/script.cpp, IsPushOnly.
[[nodiscard]] bool is_push_only(ByteSpan script);

/// Legacy signature operations of a script; with `accurate`, OP_CHECKMULTISIG counts the number before it.
/// Source: Bitcoin Core src/script/script.cpp, GetSigOpCount.
[[nodiscard]] unsigned count_sigops(ByteSpan script, bool accurate);

/// Script of an address of the given chain: base58check P2PKH and P2SH, bech32 and bech32m (BIP 173, 350).
/// Errors: invalid_argument.
[[nodiscard]] Result<Script> address_to_script(std::string_view address, const ChainParams& params);

/// Script of a descriptor: raw, addr, pk, pkh, wpkh, sh, wsh, multi, sortedmulti, combo, rawtr with plain
/// hexadecimal keys, with or without checksum; of combo the one that pays to the key's hash. Errors: invalid_argument, with Core's words where it has some;
/// unsupported for what is left out.
[[nodiscard]] Result<Script> descriptor_to_script(std::string_view descriptor, const ChainParams& params);

}  // namespace blockpub
