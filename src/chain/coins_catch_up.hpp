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

}  // namespace blockpub
