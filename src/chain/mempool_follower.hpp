// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/block.hpp"

#include <blockpub/events.hpp>
#include <blockpub/store.hpp>

#include <variant>
#include <vector>

namespace blockpub {

struct HeaderNode;

using MempoolEvent = std::variant<TransactionAddedToMempool, TransactionRemovedFromMempool>;

/// What a mempool is told of the chain's steps, and asked for in return.
///
/// The activation calls it behind the coins engine: the coins are those of the new tip each time.
/// Thread safety: never called concurrently; chain thread only.
class MempoolFollower {
 public:
    virtual ~MempoolFollower() = default;
    /// Whether connecting a block would change anything: if not, the block need not be read for it.
    [[nodiscard]] virtual bool follows_blocks() const = 0;
    virtual void block_connected(const ParsedBlock& block) = 0;
    /// Called before the disconnect is told; what it changes in the mempool is told before that.
    virtual void block_disconnected(const ParsedBlock& block) = 0;
    /// Called after the disconnects and connects of a step, which ends on `tip`. What the step gave up
    /// returns to the mempool if `return_to_mempool`, but for what its new blocks contain; else it is dropped
    /// with all that depends on it.
    virtual void end_disconnects(const HeaderNode& tip, bool return_to_mempool) = 0;
    /// What has changed since the last call, in order: to be told between a step's disconnects and connects.
    [[nodiscard]] virtual std::vector<MempoolEvent> take_events() = 0;
    /// Shows all of it to readers, as what fits the chain of `tip`.
    virtual void publish(const Tip& tip) = 0;
};

/// No mempool. Thread safety: as MempoolFollower. Blocking: never.
class NoMempool final : public MempoolFollower {
 public:
    [[nodiscard]] bool follows_blocks() const override { return false; }
    void block_connected(const ParsedBlock&) override {}
    void block_disconnected(const ParsedBlock&) override {}
    void end_disconnects(const HeaderNode&, bool) override {}
    [[nodiscard]] std::vector<MempoolEvent> take_events() override { return {}; }
    void publish(const Tip&) override {}
};

}  // namespace blockpub
