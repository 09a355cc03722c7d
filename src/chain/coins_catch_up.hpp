// SPDX-License-Identifier: MIT
#pragma once

#include "base/log.hpp"
#include "chain/chain_state.hpp"
#include "chain/coins_engine.hpp"

#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <functional>

namespace blockpub {

/// At a start: takes the coins from the tip they were written with, back to the active chain and forward to
/// its tip, with stored blocks and undo data. Undo data and facts that a block lacks are stored on the way.
/// `reached` is called after each block; an Error of its ends the work.
/// Thread safety: chain thread only.
/// Errors: corrupt, when the coins' tip is unknown, or a block or its undo data is damaged, or a block of the
/// active chain breaks a rule; each names the block. io, unavailable.
[[nodiscard]] Result<void> roll_coins(ChainState& state, CoinsEngine& coins, Store& store, const Log& log,
                                      const std::function<Result<void>(const HeaderNode&)>& reached);

/// As far as that goes without blocks that may be missing: takes the coins back to the active chain. Result:
/// the block whose coins they are then; null: there are none. Errors: as roll_coins.
[[nodiscard]] Result<HeaderNode*> roll_back_coins(
    ChainState& state, CoinsEngine& coins, Store& store,
    const std::function<Result<void>(const HeaderNode&)>& reached);

/// Connects one block of the active chain, which the coins are behind by one or more, and stores its undo
/// data and facts. Errors: as roll_coins.
[[nodiscard]] Result<void> connect_coins_of(ChainState& state, HeaderNode& node, CoinsEngine& coins,
                                            Store& store);

}  // namespace blockpub
