// SPDX-License-Identifier: MIT
#include "unit/store/store_fixture.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <map>
#include <random>
#include <set>

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE_BEGIN("store.model");

namespace {

/// What the store ought to show, kept in the plainest way.
struct Model {
    std::map<BlockHash, HeaderRecord> headers;
    std::map<Height, BlockHash> active;
    std::set<BlockHash> tips;
    std::vector<EventRecord> events;
    std::optional<Tip> tip;
    std::map<std::string, std::string> meta;
};

constexpr std::uint64_t kKeys = 40;

StoreChanges random_changes(std::mt19937_64& random, Model& model) {
    StoreChanges changes;
    const auto few = [&] { return random() % 4; };
    for (auto count = few(); count > 0; --count) {
        HeaderRecord record;
        record.arrival = random();
        if (random() % 2 == 0) record.block = BlobPlace{1, random(), 3};
        const auto hash = hash_of(random() % kKeys);
        changes.headers.emplace_back(hash, record);
        model.headers[hash] = record;
    }
    for (auto count = few(); count > 0; --count) {
        const Height height{static_cast<std::uint32_t>(random() % kKeys)};
        if (random() % 2 == 0) {
            const auto hash = hash_of(random());
            changes.active.emplace_back(height, hash);
            model.active[height] = hash;
        } else {
            changes.active.emplace_back(height, std::nullopt);
            model.active.erase(height);
        }
    }
    for (auto count = few(); count > 0; --count) {
        const auto hash = hash_of(random() % kKeys);
        const bool present = random() % 2 == 0;
        changes.tips.emplace_back(hash, present);
        if (present) {
            model.tips.insert(hash);
        } else {
            model.tips.erase(hash);
        }
    }
    for (auto count = few(); count > 0; --count) {
        EventRecord event;
        event.index = model.events.size();
        event.hash = hash_of(random());
        event.height.value = static_cast<std::uint32_t>(random());
        changes.events.push_back(event);
        model.events.push_back(event);
    }
    for (auto count = few(); count > 0; --count) {
        const std::string key = "key/" + std::to_string(random() % kKeys);
        if (random() % 2 == 0) {
            const auto value = std::to_string(random());
            changes.meta.emplace_back(key, value);
            model.meta[key] = value;
        } else {
            changes.meta.emplace_back(key, std::nullopt);
            model.meta.erase(key);
        }
    }
    if (random() % 3 == 0)
        changes.tip = model.tip = Tip{hash_of(random()), {static_cast<std::uint32_t>(random())}};
    return changes;
}

void check_point_reads(const Snapshot& snapshot, const Model& model) {
    for (std::uint64_t i = 0; i < kKeys; ++i) {
        const auto header = snapshot.header(hash_of(i));
        const auto expected = model.headers.find(hash_of(i));
        REQUIRE(header.has_value() == (expected != model.headers.end()));
        if (header) CHECK(*header == expected->second);
        const auto active = snapshot.active({static_cast<std::uint32_t>(i)});
        const auto height = model.active.find({static_cast<std::uint32_t>(i)});
        REQUIRE(active.has_value() == (height != model.active.end()));
        if (active) CHECK(*active == height->second);
        const auto key = "key/" + std::to_string(i);
        const auto meta = snapshot.meta(key);
        REQUIRE(meta.has_value() == model.meta.contains(key));
        if (meta) CHECK(*meta == model.meta.at(key));
    }
    const auto tip = snapshot.tip();
    REQUIRE(tip.has_value() == model.tip.has_value());
    if (tip) CHECK(*tip == *model.tip);
}

void check_ranges(const Store& store, const Snapshot& snapshot, const Model& model, std::mt19937_64& random) {
    CHECK(must(snapshot.tips()) == std::vector<BlockHash>(model.tips.begin(), model.tips.end()));
    CHECK(must(snapshot.next_event()) == model.events.size());
    const std::size_t first = random() % (model.events.size() + 2);
    const std::size_t limit = random() % 10;
    const auto events = must(snapshot.events(first, limit));
    const std::size_t expected =
        first >= model.events.size() ? 0 : std::min(limit, model.events.size() - first);
    REQUIRE(events.size() == expected);
    for (std::size_t i = 0; i < expected; ++i) CHECK(events[i] == model.events[first + i]);
    auto header = model.headers.begin();
    must(store.scan_headers([&](const BlockHash& hash, const HeaderRecord& record) -> Result<void> {
        REQUIRE(header != model.headers.end());
        CHECK(hash == header->first);
        CHECK(record == header->second);
        ++header;
        return {};
    }));
    CHECK(header == model.headers.end());
    const std::string prefix = random() % 2 == 0 ? "key/" : "key/1";
    auto meta = model.meta.lower_bound(prefix);
    must(store.scan_meta(prefix, [&](std::string_view key, std::string_view value) -> Result<void> {
        REQUIRE(meta != model.meta.end());
        CHECK(key == meta->first);
        CHECK(value == meta->second);
        ++meta;
        return {};
    }));
    CHECK((meta == model.meta.end() || !meta->first.starts_with(prefix)));
}

}  // namespace

TEST_CASE("tables and layers together show what a model shows, over commits, failures and restarts") {
    const auto seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const TemporaryDirectory directory;
    PlannedFaults faults;
    auto options = options_for(directory.path());
    options.faults = &faults;
    auto store = open_store(options);
    Model model;
    Model committed;
    for (int round = 0; round < 300; ++round) {
        store->apply(random_changes(random, model));
        switch (random() % 20) {
            case 0:
                must(store->commit());
                committed = model;
                break;
            case 1:
                faults.fail(StoreFaults::Point::chain_put, ENOSPC, static_cast<int>(random() % 10));
                // A commit of fewer records than are let through succeeds.
                if (store->commit()) committed = model;
                faults.heal();
                break;
            case 2:
                if (random() % 3 != 0) break;
                store.reset();
                store = open_store(options);
                model = committed;
                break;
            default:
                break;
        }
        const auto snapshot = must(store->snapshot());
        check_point_reads(snapshot, model);
        check_ranges(*store, snapshot, model, random);
        CHECK(must(store->read_events(0, 100'000)).size() == committed.events.size());
    }
}

TEST_CASE("a scan ends with the error of its visitor") {
    const TemporaryDirectory directory;
    auto store = open_store(options_for(directory.path()));
    for (std::uint32_t height = 0; height < 4; ++height) {
        auto changes = step(height, height, {});
        changes.meta.emplace_back("height/" + std::to_string(height), "x");
        store->apply(std::move(changes));
        if (height == 1) must(store->commit());
    }
    for (const int stop_at : {1, 2, 3, 4}) {
        int seen = 0;
        const auto stop = [&]() -> Result<void> {
            if (++seen == stop_at) return fail(Errc::stopped, "enough");
            return {};
        };
        CHECK(error_of(store->scan_headers([&](const BlockHash&, const HeaderRecord&) {
                  return stop();
              })).context == "enough");
        CHECK(seen == stop_at);
        seen = 0;
        CHECK(error_of(store->scan_meta("height/", [&](std::string_view, std::string_view) {
                  return stop();
              })).context == "enough");
        CHECK(seen == stop_at);
    }
}
