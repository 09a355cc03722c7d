// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/chain_params.hpp"

#include <blockpub/hash.hpp>

#include <cstdint>

namespace blockpub {

/// How far a block's time may lie ahead of the node's clock, in seconds. (MAX_FUTURE_BLOCK_TIME)
inline constexpr std::int64_t kMaxFutureBlockTime = 2 * 60 * 60;
/// How far the first block of a retarget interval may lie before its parent under BIP 94, in seconds.
/// (MAX_TIMEWARP: "time-timewarp-attack" beyond it.)
inline constexpr std::int64_t kMaxTimewarp = 600;

/// The headers of one branch, by height, as a retarget sees them.
/// Thread safety: the caller's; next_work_required calls it on its own thread only.
class AncestorAccess {
 public:
    struct Ancestor {
        std::uint32_t bits = 0;
        std::uint32_t time = 0;
    };
    virtual ~AncestorAccess() = default;
    /// Height of the branch's newest block, the parent of the block to come.
    [[nodiscard]] virtual Height tip_height() const = 0;
    /// Called with heights from 0 to tip_height() only.
    [[nodiscard]] virtual Ancestor ancestor(Height height) const = 0;
};

/// The `bits` that a block of time `new_time` must have on top of `parent`.
/// Source: Bitcoin Core v28.1 src/pow.cpp, GetNextWorkRequired; BIP 94 for testnet4.
[[nodiscard]] std::uint32_t next_work_required(const ChainParams& params, const AncestorAccess& parent,
                                               std::uint32_t new_time);

}  // namespace blockpub
