// SPDX-License-Identifier: MIT
#pragma once

#include "chain/header_tree.hpp"
#include "chain/mempool_follower.hpp"
#include "store/block_cache.hpp"

#include <blockpub/events.hpp>
#include <blockpub/store.hpp>

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace blockpub {

/// Something to release on the bus, in the order of generation.
using PendingRelease = std::variant<EventRecord, TransactionAddedToMempool, TransactionRemovedFromMempool>;

/// What a step, or the acceptance of blocks before it, changes: gathered while it is made, then shown to
/// readers and committed as one. Thread safety: chain thread only. Ownership: borrows the nodes that it was
/// told of.
class StepChanges {
 public:
    explicit StepChanges(EventIndex next_event) : next_event_(next_event) {}

    /// The node's record has to be written, as it stands when the changes are taken.
    void touch(HeaderNode& node);
    void set_leaf(const BlockHash& hash, bool leaf) { tips_[hash] = leaf; }
    void set_active(Height height, std::optional<BlockHash> hash) { active_[height] = hash; }
    void set_tip(const HeaderNode& tip) { tip_ = Tip{.hash = tip.hash, .height = tip.height}; }
    void put_meta(std::string key, std::optional<std::string> value) {
        meta_[std::move(key)] = std::move(value);
    }
    void add_event(BlockEventKind kind, const HeaderNode& node);
    /// Number of events so far: a place for insert_mempool_events.
    [[nodiscard]] std::size_t release_count() const { return releases_.size(); }
    void insert_mempool_events(std::size_t place, std::vector<MempoolEvent> events);
    /// Readers will ask for it as soon as they hear of the step.
    void expect_readers(BlockCache::Item part) { cached_.push_back(std::move(part)); }
    /// Says on the last record how the step ended. Requires: the step has one.
    void end_step(const EventRecord::StepEnd& end);

    [[nodiscard]] bool empty() const;
    [[nodiscard]] EventIndex next_event() const { return next_event_; }

    struct Taken {
        StoreChanges store;
        std::vector<PendingRelease> releases;
        std::vector<BlockCache::Item> cached;
    };
    /// All that was gathered; empty afterwards.
    [[nodiscard]] Taken take();

 private:
    std::vector<HeaderNode*> touched_;
    std::map<BlockHash, bool> tips_;
    std::map<Height, std::optional<BlockHash>> active_;
    std::map<std::string, std::optional<std::string>> meta_;
    std::optional<Tip> tip_;
    std::vector<PendingRelease> releases_;
    std::vector<BlockCache::Item> cached_;
    EventIndex next_event_;
};

}  // namespace blockpub
