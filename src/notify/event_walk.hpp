// SPDX-License-Identifier: MIT
#pragma once

#include "notify/counting_sink.hpp"
#include "notify/lazy_block.hpp"

#include <blockpub/notifier.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace blockpub {

/// Leads one event at a time past all notifiers of an endpoint, in Core's order: for a block each transaction
/// past each notifier, then the block itself past each. Remembers the exact point at which a notifier failed.
///
/// Thread safety: the publisher's thread.
/// Ownership: borrows notifiers, sink and reader. Keeps the block of the last event until `release_block`,
/// since the tip update behind it is about the same one.
class EventWalk {
 public:
    /// Why a point failed, and what can be done about it.
    enum class Cause : std::uint8_t {
        read,      ///< the block
        send,      ///< the socket
        notifier,  ///< the notifier itself
    };
    struct Failure {
        Cause cause = Cause::notifier;
        Error error;
    };

    EventWalk(std::vector<std::unique_ptr<Notifier>>& notifiers, CountingSink& sink, BlockReader& reader)
        : notifiers_(notifiers), sink_(sink), reader_(reader) {}

    /// Goes on with `event`, which is the one of the last call where that failed. Nothing when all is done.
    [[nodiscard]] std::optional<Failure> run(const Event& event);
    /// Leaves out the point that failed; every message that it might have sent shows as a gap of one in the
    /// counter of its topic. For a failed read all of the block's points go, and later ones of the same block
    /// at once.
    void give_up(const Failure& failure);
    /// Whether the block at hand was given up at an earlier point.
    [[nodiscard]] bool block_given_up() const { return block_ && block_->given_up(); }
    void release_block() { block_.reset(); }

 private:
    /// Where in an event: at which transaction (or behind them all), and at which notifier.
    struct Point {
        bool behind_transactions = false;
        std::size_t transaction = 0;
        std::size_t notifier = 0;
    };

    [[nodiscard]] LazyBlock& block_of(const BlockHash& hash);
    [[nodiscard]] Result<void> walk_transactions(LazyBlock& block);
    template <class Call>
    [[nodiscard]] Result<void> walk_notifiers(Call&& call);
    template <class Call>
    [[nodiscard]] Result<void> at_point(std::size_t notifier, Call&& call);
    [[nodiscard]] Result<void> run_event(const Event& event);

    std::vector<std::unique_ptr<Notifier>>& notifiers_;
    CountingSink& sink_;
    BlockReader& reader_;
    std::optional<LazyBlock> block_;
    Point point_;
    bool repeating_ = false;  // the point at hand has been tried before
};

}  // namespace blockpub
