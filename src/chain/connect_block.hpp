// SPDX-License-Identifier: MIT
#pragma once

#include "chain/block_coins.hpp"
#include "chain/coins_ahead.hpp"
#include "chain/coins_engine.hpp"
#include "chain/undo.hpp"
#include "primitives/chain_params.hpp"

#include <blockpub/result.hpp>

#include <string>

namespace blockpub {

/// Whether the block is one of the two whose coinbase repeats an earlier one, then unspent (BIP 30).
[[nodiscard]] bool repeats_earlier_coinbase(Height height, const BlockHash& hash);

struct ConnectedCoins {
    std::string reject_reason;   ///< Core's; empty when the block keeps all rules
    std::string reject_message;  ///< Core's debug message with it; may be empty
    BlockUndo undo;
};

/// Every rule of a block that needs coins but no scripts, in Core's order; spends and makes the coins in
/// `coins`, which the caller keeps only when nothing was rejected. `ahead`, which may be null, was given this
/// block's bytes. Thread safety: chain thread only.
/// Blocking: reads coins. Errors: corrupt, io, of the store. Source: Bitcoin Core v28.1 src/validation.cpp,
/// ConnectBlock.
[[nodiscard]] Result<ConnectedCoins> connect_coins(BlockInChain& block, BlockCoins& coins,
                                                   const ChainParams& params, CoinsAhead* ahead = nullptr);

/// Takes back what connecting the block did.
/// Errors: corrupt, when the undo data does not fit the block or the coins, naming the block; io.
/// Source: Bitcoin Core v28.1 src/validation.cpp, DisconnectBlock.
[[nodiscard]] Result<void> disconnect_coins(BlockInChain& block, const BlockUndo& undo, BlockCoins& coins);

}  // namespace blockpub
