// SPDX-License-Identifier: MIT
#include "notify/event_walk.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <exception>

namespace blockpub {

std::optional<EventWalk::Failure> EventWalk::run(const Event& event) {
    sink_.clear_failed();
    if (block_) static_cast<void>(block_->take_failure());
    const Result<void> done = run_event(event);
    if (done) {
        point_ = {};
        repeating_ = false;
        return std::nullopt;
    }
    const bool read_failed = block_ && block_->take_failure().has_value();
    const Cause cause = sink_.failed() ? Cause::send : read_failed ? Cause::read : Cause::notifier;
    return Failure{cause, done.error()};
}

Result<void> EventWalk::run_event(const Event& event) {
    struct Visitor {
        EventWalk& walk;
        Result<void> operator()(const BlockConnected& e) const {
            LazyBlock& block = walk.block_of(e.hash);
            if (auto done = walk.walk_transactions(block); !done) return done;
            return walk.walk_notifiers([&](Notifier& n) { return n.block_connected(walk.sink_, e, block); });
        }
        Result<void> operator()(const BlockDisconnected& e) const {
            LazyBlock& block = walk.block_of(e.hash);
            if (auto done = walk.walk_transactions(block); !done) return done;
            return walk.walk_notifiers(
                [&](Notifier& n) { return n.block_disconnected(walk.sink_, e, block); });
        }
        Result<void> operator()(const UpdatedBlockTip& e) const {
            LazyBlock& block = walk.block_of(e.tip_hash);
            walk.point_.behind_transactions = true;
            return walk.walk_notifiers(
                [&](Notifier& n) { return n.updated_block_tip(walk.sink_, e, block); });
        }
        Result<void> operator()(const TransactionAddedToMempool& e) const {
            return walk.walk_notifiers([&](Notifier& n) { return n.transaction_added(walk.sink_, e); });
        }
        Result<void> operator()(const TransactionRemovedFromMempool& e) const {
            return walk.walk_notifiers([&](Notifier& n) { return n.transaction_removed(walk.sink_, e); });
        }
        // No topic of Core's tells of it.
        Result<void> operator()(const BlocksPruned&) const { return {}; }
    };
    return std::visit(Visitor{*this}, event);
}

LazyBlock& EventWalk::block_of(const BlockHash& hash) {
    if (!block_ || block_->hash() != hash) block_.emplace(reader_, hash);
    return *block_;
}

Result<void> EventWalk::walk_transactions(LazyBlock& block) {
    if (point_.behind_transactions) return {};
    if (std::ranges::any_of(notifiers_, [](const auto& n) { return n->wants_block_transactions(); })) {
        const Result<std::size_t> count = block.transaction_count();
        if (!count) return std::unexpected(count.error());
        for (; point_.transaction < *count; ++point_.transaction) {
            const std::size_t position = point_.transaction;
            auto done = walk_notifiers([&](Notifier& n) {
                return n.wants_block_transactions() ? n.block_transaction(sink_, block, position)
                                                    : Result<void>{};
            });
            if (!done) return done;
            point_.notifier = 0;
        }
    }
    point_ = {.behind_transactions = true};
    return {};
}

template <class Call>
Result<void> EventWalk::walk_notifiers(Call&& call) {
    for (; point_.notifier < notifiers_.size(); ++point_.notifier) {
        if (auto done = at_point(point_.notifier, call); !done) return done;
    }
    return {};
}

template <class Call>
Result<void> EventWalk::at_point(std::size_t notifier, Call&& call) {
    if (repeating_) {
        sink_.repeat_point();
    } else {
        sink_.begin_point(notifier);
    }
    Result<void> done;
    try {
        done = call(*notifiers_[notifier]);
    } catch (const std::exception& error) {
        done = fail(Errc::io, error.what());
    } catch (...) {
        done = fail(Errc::io, "threw something that is no std::exception");
    }
    // A notifier may overlook what the sink told it.
    if (done && sink_.failed()) done = fail(Errc::io, "a message could not be sent");
    repeating_ = !done;
    if (!done) {
        return fail(done.error().code,
                    fmt::format("{}: {}", notifiers_[notifier]->topic(), done.error().context));
    }
    return {};
}

void EventWalk::give_up(const Failure& failure) {
    BLOCKPUB_CHECK(failure.cause != Cause::send);
    repeating_ = false;
    if (failure.cause == Cause::read) block_->give_up(failure.error);
    if (failure.cause == Cause::read && !point_.behind_transactions && point_.transaction == 0 &&
        point_.notifier == 0) {
        // Without the block there is no telling how many transactions it had.
        for (std::size_t i = 0; i < notifiers_.size(); ++i) {
            if (notifiers_[i]->wants_block_transactions()) sink_.skip(i, notifiers_[i]->topic());
        }
        point_ = {.behind_transactions = true};
        return;
    }
    sink_.skip(point_.notifier, notifiers_[point_.notifier]->topic());
    ++point_.notifier;
}

}  // namespace blockpub
