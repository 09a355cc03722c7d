// SPDX-License-Identifier: MIT
#include "store/snapshot.hpp"

#include "unit/store/store_fixture.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE_BEGIN("store.snapshot");

namespace {

/// Moves the tip up or down by a block, in ways that tie all tables together.
class Walker {
 public:
    Walker(Store& store, unsigned seed) : store_(store), random_(seed) {}

    void take_step() {
        StoreChanges changes;
        EventRecord event;
        event.index = next_++;
        const bool down = !chain_.empty() && chain_.size() > 1 && random_() % 3 == 0;
        if (down) {
            const auto height = static_cast<std::uint32_t>(chain_.size() - 1);
            event.kind = BlockEventKind::disconnected;
            event.hash = chain_.back();
            event.height = {height};
            changes.active.emplace_back(Height{height}, std::nullopt);
            changes.tips.emplace_back(chain_.back(), false);
            chain_.pop_back();
            event.previous_hash = chain_.back();
        } else {
            const auto height = static_cast<std::uint32_t>(chain_.size());
            event.hash = hash_of(1'000'000 + event.index);
            event.height = {height};
            if (!chain_.empty()) {
                event.previous_hash = chain_.back();
                changes.tips.emplace_back(chain_.back(), false);
            }
            chain_.push_back(event.hash);
            changes.active.emplace_back(Height{height}, event.hash);
            HeaderRecord record;
            record.height = {height};
            changes.headers.emplace_back(event.hash, record);
        }
        changes.tips.emplace_back(chain_.back(), true);
        changes.tip = Tip{chain_.back(), {static_cast<std::uint32_t>(chain_.size() - 1)}};
        changes.meta.emplace_back("steps", std::to_string(next_));
        changes.events.push_back(event);
        store_.apply(std::move(changes));
    }
    [[nodiscard]] EventIndex next() const { return next_; }

 private:
    Store& store_;
    std::mt19937 random_;
    std::vector<BlockHash> chain_;
    EventIndex next_ = 0;
};

/// The rules that every state obeys; empty when this one does. (doctest's macros are slow under threads.)
std::string broken_rule(const Snapshot& snapshot) {
    const auto tip = snapshot.tip();
    if (!tip) return "no tip";
    const auto active = snapshot.active(tip->height);
    if (!active || *active != tip->hash) return "the active block at the tip's height is another";
    if (snapshot.active(tip->height.next())) return "an active block above the tip";
    const auto header = snapshot.header(tip->hash);
    if (!header || header->height != tip->height) return "the tip's header is another";
    const auto next = snapshot.next_event();
    if (!next || *next == 0) return "no event";
    const auto last = snapshot.events(*next - 1, 10);
    if (!last || last->size() != 1) return "not one last event";
    const auto& event = last->front();
    const auto& after = event.kind == BlockEventKind::connected ? event.hash : event.previous_hash;
    if (after != tip->hash) return "the last event does not lead to the tip";
    const auto steps = snapshot.meta("steps");
    if (!steps || *steps != std::to_string(*next)) return "meta is of another state";
    const auto tips = snapshot.tips();
    if (!tips || tips->size() != 1 || tips->front() != tip->hash) return "the leaves are of another state";
    return {};
}

}  // namespace

TEST_CASE("no reader ever sees half a step, while a writer applies and commits") {
    const auto seed = std::random_device{}();
    CAPTURE(seed);
    const TemporaryDirectory directory;
    auto store = open_store(options_for(directory.path()));
    Walker walker(*store, seed);
    walker.take_step();
    std::atomic<bool> done = false;
    std::atomic<std::uint64_t> states = 0;
    std::vector<std::string> faults(4);
    std::vector<std::jthread> readers;
    for (std::string& fault : faults) {
        readers.emplace_back([&] {
            EventIndex seen = 0;
            while (!done && fault.empty()) {
                const auto durable = store->read_events(0, 1'000'000);
                const auto snapshot = store->snapshot();
                if (!durable || !snapshot) {
                    fault = "cannot read";
                    return;
                }
                fault = broken_rule(*snapshot);
                const auto next = snapshot->next_event().value_or(0);
                if (fault.empty() && next < seen) fault = "an older state after a newer one";
                if (fault.empty() && next < durable->size()) fault = "a durable event is not readable";
                seen = next;
                ++states;
            }
        });
    }
    std::mt19937 random(seed);
    for (int commit = 0; commit < 120; ++commit) {
        for (auto steps = random() % 12; steps > 0; --steps) walker.take_step();
        must(store->commit());
    }
    done = true;
    readers.clear();
    for (const auto& fault : faults) CHECK(fault == "");
    CHECK(states > 0);
}

TEST_CASE("a snapshot that is held remains one state, and the writer goes on") {
    const TemporaryDirectory directory;
    auto store = open_store(options_for(directory.path()));
    Walker walker(*store, 1);
    for (int i = 0; i < 30; ++i) walker.take_step();
    must(store->commit());
    for (int i = 0; i < 5; ++i) walker.take_step();
    const auto held = must(store->snapshot());
    const auto tip = must(held.tip());
    const auto next = must(held.next_event());
    CHECK(next == 35);
    for (int commit = 0; commit < 60; ++commit) {
        for (int i = 0; i < 20; ++i) walker.take_step();
        must(store->commit());
        CHECK(broken_rule(held) == "");
        CHECK(must(held.tip()) == tip);
        CHECK(must(held.next_event()) == next);
        CHECK(must(held.events(0, 10'000)).size() == next);
    }
    CHECK(must(must(store->snapshot()).next_event()) == walker.next());
}

TEST_CASE("many snapshots may be held at a time, and each ends on another thread") {
    const TemporaryDirectory directory;
    auto store = open_store(options_for(directory.path()));
    Walker walker(*store, 2);
    walker.take_step();
    must(store->commit());
    std::vector<Snapshot> held;
    for (int i = 0; i < 500; ++i) held.push_back(must(store->snapshot()));
    std::jthread([&] { held.clear(); }).join();
    CHECK(broken_rule(must(store->snapshot())) == "");
}

TEST_CASE("a transaction older than the layers is begun anew") {
    const TemporaryDirectory directory;
    const auto lock = must(DirectoryLock::acquire(directory.path()));
    const auto tables = must(ChainTables::open({.directory = directory.path() / "chain",
                                                .map_bytes = 1 << 24,
                                                .network = {1, hash_of(0)},
                                                .fresh = true,
                                                .lock = lock}));
    const auto layer = Layer::from_changes(step(0, 0, {}));
    const auto number = must(tables->write(layer, {}));
    auto old = must(tables->begin_read());
    CHECK(old.txn.id() == number);
    const auto newer = must(tables->write(Layer::from_changes(step(1, 1, {})), {}));
    CHECK(newer > number);
    CHECK(old.txn.id() == number);
    const SnapshotCell<LayerStack> cell(
        std::make_shared<const LayerStack>(LayerStack{.base_txnid = newer, .layers = {}}));
    old.env->end_read(std::move(old.txn));
    const Snapshot snapshot(must(Snapshot::Impl::take(*tables, cell)));
    CHECK(must(snapshot.tip()).height == Height{1});
    // A cell of a commit that the tables do not have can only be a broken store.
    const SnapshotCell<LayerStack> beyond(
        std::make_shared<const LayerStack>(LayerStack{.base_txnid = newer + 1, .layers = {}}));
    CHECK(error_of(Snapshot::Impl::take(*tables, beyond)).code == Errc::corrupt);
}
