// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/block.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/result.hpp>

#include <optional>

namespace blockpub {

/// Decodes what submitblock was given: bytes behind the block are ignored, as Core does.
/// Errors: corrupt, with Core's text: "Block decode failed", "Block does not start with a coinbase".
[[nodiscard]] Result<ParsedBlock> decode_submitted_block(SharedBytes raw);

/// The block with the witness of the coinbase that its commitment needs, 32 zero bytes, where a miner left it
/// out. Nothing when there is no commitment, or a witness already. Requires: the block starts with a
/// coinbase. Source: Bitcoin Core v28.1 src/validation.cpp, UpdateUncommittedBlockStructures.
[[nodiscard]] std::optional<ParsedBlock> complete_coinbase_witness(const ParsedBlock& block);

}  // namespace blockpub
