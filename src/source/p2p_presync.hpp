// SPDX-License-Identifier: MIT
#pragma once

#include "chain/header_desk.hpp"
#include "primitives/chain_params.hpp"
#include "primitives/header.hpp"
#include "primitives/siphash.hpp"
#include "primitives/work.hpp"

#include <blockpub/hash.hpp>
#include <blockpub/result.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace blockpub {

/// Looks at a chain of headers twice before any of it is kept: first whether it has the work that a chain
/// must have, then, sent once more, whether it is still the same.
///
/// Of the first look a keyed hash is kept for each 2,000 headers, so that a long chain without work costs
/// its sender the bandwidth and us eight bytes now and then; in the second, headers wait until the hash
/// behind them is right, 4,000 at most. Proof of work and the limits on how the target may move are checked
/// in both; every other rule is the chain's, which gets the headers of the second look.
///
/// Thread safety: one thread at a time. Blocking: never.
/// Errors: corrupt: the peer sent what is no such chain; nothing can be taken afterwards.
/// Source: the idea of Bitcoin Core v24's headerssync, with whole hashes instead of single bits.
class HeaderPresync {
 public:
    /// `start`: where the headers begin, known to the chain. `least_work`: what they must reach. `now`:
    /// seconds since 1970. `key`: not to be known by the peer.
    HeaderPresync(const ChainParams& params, const HeaderDesk::Point& start, const Uint256& least_work,
                  std::int64_t now, const SipHashKey& key);

    struct Step {
        std::vector<BlockHeader> release;  ///< for the chain, in order
        /// The peer is to send what follows this one; nothing: this is over.
        std::optional<BlockHash> ask_from;
        bool too_little_work = false;  ///< it ended without enough
    };
    /// `whole`: the peer may have more behind these headers. Requires: each follows the one before.
    [[nodiscard]] Result<Step> take(std::span<const BlockHeader> headers, bool more);

    [[nodiscard]] Height height() const { return height_; }
    /// Whether the header follows the last one: an announcement of a new block between them does not.
    [[nodiscard]] bool continues(const BlockHeader& header) const { return header.previous == last_; }
    [[nodiscard]] bool second_look() const { return second_; }

 private:
    [[nodiscard]] Result<void> follow(const BlockHeader& header, const BlockHash& hash);
    [[nodiscard]] Result<void> check_hash(const BlockHash& hash);
    void begin_second_look();

    const ChainParams& params_;
    const HeaderDesk::Point start_;
    const Uint256 least_work_;
    const SipHashKey key_;
    const std::size_t most_hashes_;
    std::vector<std::uint64_t> hashes_;  // of every 2,000th header of the first look
    bool second_ = false;
    // Where the look has come to.
    BlockHash last_;
    Height height_;
    std::uint32_t bits_ = 0;
    Uint256 work_;
    std::vector<BlockHeader> waiting_;  // of the second look, not confirmed yet
    Height first_end_;                  // of the first look, where it had enough
    std::uint64_t first_end_hash_ = 0;
};

}  // namespace blockpub
