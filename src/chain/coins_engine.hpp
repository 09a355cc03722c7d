// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/block.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/hash.hpp>
#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace blockpub {

/// A block on its way into or out of the active chain.
///
/// Thread safety: chain thread only; valid during the call.
class BlockInChain {
 public:
    virtual ~BlockInChain() = default;
    [[nodiscard]] virtual const BlockHash& hash() const = 0;
    [[nodiscard]] virtual Height height() const = 0;
    /// Median time past of the parent: what time locks are held against. 0 for genesis.
    [[nodiscard]] virtual std::int64_t previous_median_time() const = 0;
    /// Hash and median time past of the block at `height` on this block's branch. Requires: height <
    /// height().
    [[nodiscard]] virtual BlockHash ancestor_hash(Height height) const = 0;
    [[nodiscard]] virtual std::int64_t ancestor_median_time(Height height) const = 0;
    /// The block itself, read from the store when first asked for. Errors: io, corrupt, unavailable.
    [[nodiscard]] virtual Result<const ParsedBlock*> parsed() = 0;
    /// What CoinsEngine::connect gave as undo data when the block was connected. Errors: as parsed();
    /// not_found.
    [[nodiscard]] virtual Result<SharedBytes> undo() = 0;
};

class CoinsAhead;

/// The rules and changes that connecting a block brings to the coins.
///
/// The activation calls it in the order of the chain: every connect extends the block connected last, every
/// disconnect takes that one back. Nothing that it did is committed before the step's own commit.
/// Thread safety: never called concurrently; chain thread only.
/// Errors: an Error is a failure of this machine, not the block's: io and disk_full are tried again; the
/// others end the work.
class CoinsEngine {
 public:
    struct Connected {
        std::string reject_reason;   ///< Core's, when the block breaks a rule; nothing has changed then
        std::string reject_message;  ///< Core's debug message with it; may be empty
        SharedBytes undo;            ///< stored beside the block; empty: none
        SharedBytes facts;           ///< likewise
    };

    virtual ~CoinsEngine() = default;
    [[nodiscard]] virtual Result<Connected> connect(BlockInChain& block) = 0;
    [[nodiscard]] virtual Result<void> disconnect(BlockInChain& block) = 0;
    /// From any thread: begins to look for what a block spends, which is going to be connected with these
    /// very bytes as long as the result is held. Null: nothing is looked for.
    [[nodiscard]] virtual std::shared_ptr<CoinsAhead> look_ahead(const SharedBytes& /*raw*/) {
        return nullptr;
    }
    /// All rules of connect, without a change. Result: the reject reason, with Core's message behind a comma
    /// where there is one; empty when valid.
    [[nodiscard]] virtual Result<std::string> test(BlockInChain& block) = 0;

    /// Shows readers all that was connected and disconnected, as the coins of `tip`.
    virtual void show(const Tip& /*tip*/) {}
    /// All that was shown is durable in the store: coins may be written that agree with it.
    virtual void committed() {}
    /// Does a part of the work that what was committed leaves behind; called while nobody waits for anything.
    /// Result: whether there is more.
    virtual bool settle() { return false; }
    /// So much was shown and is not committed that a commit should come now, in bulk work too.
    [[nodiscard]] virtual bool commit_due() const { return false; }
    /// Writes all coins that were shown and committed, so that stored_tip() is the tip. Errors: unavailable
    /// (not committed yet), disk_full, io, outcome_unknown, stopped: the coins stay in memory.
    [[nodiscard]] virtual Result<void> flush() { return {}; }
    /// Readers of coins are answered with `reason` from here on; empty: with coins.
    virtual void withhold(std::string /*reason*/) {}
    /// The tip whose coins are on disk; nothing when there are none yet. A start connects and disconnects
    /// from there.
    [[nodiscard]] virtual std::optional<Tip> stored_tip() const { return std::nullopt; }
};

/// Takes every block: there are no coins to hold it against.
/// Thread safety: as CoinsEngine. Blocking: never.
class NoCoins final : public CoinsEngine {
 public:
    [[nodiscard]] Result<Connected> connect(BlockInChain&) override { return Connected{}; }
    [[nodiscard]] Result<void> disconnect(BlockInChain&) override { return {}; }
    [[nodiscard]] Result<std::string> test(BlockInChain&) override { return std::string(); }
};

}  // namespace blockpub
