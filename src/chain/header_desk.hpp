// SPDX-License-Identifier: MIT
#pragma once

#include "chain/acceptance.hpp"
#include "chain/chain_start.hpp"
#include "chain/chain_state.hpp"
#include "chain/verdict.hpp"
#include "primitives/header.hpp"
#include "primitives/work.hpp"

#include <blockpub/hash.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace blockpub {

/// What a follower of peers asks the header tree, and hands in headers by.
///
/// Thread safety: chain thread only, and only while the work lasts that it was given to.
/// Ownership: borrows all that it is made with.
class HeaderDesk {
 public:
    HeaderDesk(const Uint256& minimum_chainwork, ChainState& state, Acceptance& acceptance, ChainStart& start,
               std::function<void(const BlockHash&)> header_arrived)
        : minimum_chainwork_(minimum_chainwork),
          state_(state),
          acceptance_(acceptance),
          start_(start),
          header_arrived_(std::move(header_arrived)) {}

    /// A known header.
    struct Point {
        BlockHash hash;
        Height height;
        Uint256 chainwork;
        std::uint32_t bits = 0;
        bool failed = false;  ///< it or an ancestor is known to be invalid
    };
    [[nodiscard]] Point tip() const;
    [[nodiscard]] Point best_header() const;
    [[nodiscard]] std::optional<Point> find(const BlockHash& hash) const;

    /// The parent of a known header; of genesis, itself. Requires: `hash` is known.
    [[nodiscard]] BlockHash before(const BlockHash& hash) const;

    struct Taken {
        std::optional<Point> last;  ///< of those accepted
        Verdict rejection;          ///< of the first that was not; the rest was not looked at
    };
    /// Holds headers, each the child of the one before, against every header rule.
    [[nodiscard]] Taken take(std::span<const BlockHeader> headers);

    /// No block is wanted before a peer has no more headers.
    [[nodiscard]] bool headers_first() const { return start_.pending(); }
    /// A peer has no headers behind this one. Requires: it is known.
    void headers_end(const BlockHash& last);

    /// Hashes that tell a peer which chain is known here, up to `from`: dense at its end, then ever sparser.
    /// Requires: `from` is known.
    [[nodiscard]] std::vector<BlockHash> locator(const BlockHash& from) const;

    struct Missing {
        BlockHash hash;
        Height height;
    };
    /// Blocks between the active chain and `end` that are not here, lowest first: none where `end` is
    /// unknown, invalid, or has less work than the tip or than a chain must have. Behind them, those below
    /// `end` that the active chain itself lacks and wants (ChainStart::wanted). `reach`: how many blocks
    /// above the active chain are looked at, and how many there are at most.
    [[nodiscard]] std::vector<Missing> missing_blocks(const BlockHash& end, std::size_t reach) const;

    /// Work that a chain must have before its headers are kept: the minimum of the chain, or what the tip had
    /// 144 blocks ago. Source: Bitcoin Core v28.1 src/net_processing.cpp, GetAntiDoSWorkThreshold.
    [[nodiscard]] Uint256 least_work() const;

 private:
    const Uint256& minimum_chainwork_;
    ChainState& state_;
    Acceptance& acceptance_;
    ChainStart& start_;
    const std::function<void(const BlockHash&)> header_arrived_;
};

}  // namespace blockpub
