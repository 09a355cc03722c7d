// SPDX-License-Identifier: MIT
#pragma once

#include "chain/header_tree.hpp"
#include "chain/verdict.hpp"
#include "primitives/chain_params.hpp"
#include "primitives/header.hpp"

#include <cstdint>

namespace blockpub {

/// The header rule that needs no other header: proof of work ("high-hash").
/// Thread safety: from any thread.
[[nodiscard]] Verdict check_header_alone(const BlockHeader& header, const BlockHash& hash,
                                         const ChainParams& params);

/// The header rules on top of `parent`, in Core's order: bad-diffbits, bad-fork-prior-to-checkpoint,
/// time-too-old, time-timewarp-attack, time-too-new, bad-version(0x…). `now`: seconds since 1970;
/// `checkpoint`: no header below it is taken any more. Thread safety: chain thread only. Source: Bitcoin Core
/// v28.1 src/validation.cpp, ContextualCheckBlockHeader.
[[nodiscard]] Verdict check_header_in_context(const BlockHeader& header, const HeaderNode& parent,
                                              const ChainParams& params, std::int64_t now,
                                              Height checkpoint = {0});

}  // namespace blockpub
