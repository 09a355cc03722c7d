// SPDX-License-Identifier: MIT
#pragma once

#include "base/log.hpp"
#include "chain/chain.hpp"
#include "chain/chain_state.hpp"

#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace blockpub {

/// Why there are no coins in a chain that begins at the tip.
inline constexpr std::string_view kNoCoinsAtTip =
    "Coins not available (pruned data): the store begins at the tip (-startat=tip)";

/// Where a chain begins that is not followed from genesis on (`-startat=tip`), and how it becomes a whole
/// one.
///
/// Headers come first. When a peer has no more of them, the block 288 below the last one becomes the *base*:
/// the active chain goes up to it, though neither it nor what lies below is here. A record in table `meta`,
/// key `startat`, says so: empty while headers come, then hash and height of the base; it goes when all is
/// here. A start without the option fetches what lies below the base, the tip going on meanwhile.
///
/// Thread safety: chain thread only.
/// Ownership: borrows all that it is made with.
class ChainStart {
 public:
    static constexpr std::string_view kMetaKey = "startat";

    ChainStart(const ChainOptions& options, ChainState& state, const Log& log)
        : options_(options), state_(state), log_(log) {}

    /// Reads the record and holds it against the options. Errors: invalid_argument, one sentence, where they
    /// do not go together; corrupt; io.
    [[nodiscard]] Result<void> load();

    /// Headers come first: no block is asked for yet.
    [[nodiscard]] bool pending() const { return pending_; }
    /// The blocks below the base are being fetched.
    [[nodiscard]] bool filling() const { return base_ != nullptr && !options_.start_at_tip; }
    /// What the chain begins above; null: at genesis, or not known yet.
    [[nodiscard]] const HeaderNode* base() const { return base_; }
    /// Whether the chain cannot be taken back to `fork`.
    [[nodiscard]] bool is_below(const HeaderNode& fork) const {
        return base_ != nullptr && fork.height < base_->height;
    }
    /// Why there are no coins of the tip; empty where that is no matter of the start.
    [[nodiscard]] std::string_view why_no_coins() const;

    /// A header has come.
    void header_added(const HeaderNode& node);
    /// A peer has no headers behind `last`: the base is chosen, unless the chain that ends there is old.
    void headers_end(HeaderNode& last);
    /// The best header, once for each, where its branch leaves the chain below the base and has more work.
    [[nodiscard]] const HeaderNode* take_unreachable();

    /// While filling: the lowest blocks of the active chain that are not here.
    [[nodiscard]] std::vector<const HeaderNode*> wanted(std::size_t count);
    /// While filling: all blocks of the active chain below are here.
    [[nodiscard]] Height blocks_below();
    /// While filling, now and then: how far it has come.
    void tell(Height coins);
    /// All blocks are here, and all coins made.
    void finish();

 private:
    [[nodiscard]] Result<void> load_base(std::string_view record);
    [[nodiscard]] Result<void> begin(bool marked);
    void forget();
    [[nodiscard]] bool is_current(const HeaderNode& last);

    const ChainOptions& options_;
    ChainState& state_;
    const Log& log_;
    bool pending_ = false;
    bool told_of_age_ = false;
    bool told_of_fork_ = false;
    HeaderNode* base_ = nullptr;
    const HeaderNode* seen_best_ = nullptr;
    Height lowest_;  // below it nothing is missing; while filling
    std::chrono::steady_clock::time_point told_ = std::chrono::steady_clock::now();
};

}  // namespace blockpub
