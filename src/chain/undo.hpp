// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/coin.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/result.hpp>

#include <vector>

namespace blockpub {

/// The coins that a block spent: for each transaction behind the coinbase, one for each input, in their
/// order.
using BlockUndo = std::vector<std::vector<Coin>>;

/// Undo data as it is stored beside the block; see docs/storage.md.
[[nodiscard]] SharedBytes encode_undo(const BlockUndo& undo);
/// Errors: corrupt.
[[nodiscard]] Result<BlockUndo> decode_undo(ByteSpan bytes);

}  // namespace blockpub
