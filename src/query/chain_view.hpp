// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/chain_params.hpp"
#include "primitives/header.hpp"

#include <blockpub/hash.hpp>
#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <cstdint>
#include <optional>

namespace blockpub {

/// A header's place in the active chain of one snapshot.
struct ChainPlace {
    std::int64_t confirmations = -1;  ///< -1: not in the active chain
    std::optional<BlockHash> next;    ///< its child there
};

// What queries compute from one snapshot. Errors: those of the snapshot.

[[nodiscard]] Result<bool> is_active(const Snapshot& snapshot, const BlockHash& hash, Height height);
[[nodiscard]] Result<ChainPlace> chain_place(const Snapshot& snapshot, const BlockHash& hash, Height height,
                                             const Tip& tip);
/// Median time of the block and its ten ancestors (fewer near genesis).
[[nodiscard]] Result<std::int64_t> median_time_past(const Snapshot& snapshot, const HeaderRecord& record);

/// A header and its place in the chain, all from one snapshot.
struct HeaderView {
    BlockHash hash;
    HeaderRecord record;
    ChainPlace place;
    std::int64_t median_time = 0;
};
/// Errors: not_found, with Core's words.
[[nodiscard]] Result<HeaderView> header_view(const Snapshot& snapshot, const BlockHash& hash);

/// Estimated share of all transactions that the chain up to this block has, from 0 to 1.
/// Source: Bitcoin Core v28 GuessVerificationProgress. Differs: without a known rate (all but main) it is 1.
[[nodiscard]] double verification_progress(const ChainParams& params, const HeaderRecord& tip,
                                           std::int64_t now);

}  // namespace blockpub
