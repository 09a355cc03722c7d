// SPDX-License-Identifier: MIT
#include "store/overlay.hpp"

#include "unit/store/store_fixture.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE_BEGIN("store.overlay");

namespace {

using Table = FlatTable<int, std::optional<int>>;

Table random_table(std::mt19937_64& random, std::map<int, std::optional<int>>& model) {
    std::vector<Table::Entry> changes;
    for (auto count = random() % 20; count > 0; --count) {
        const int key = static_cast<int>(random() % 30);
        const std::optional<int> value =
            random() % 3 == 0 ? std::nullopt : std::optional<int>(static_cast<int>(random() % 1000));
        changes.push_back({key, value});
        model[key] = value;
    }
    return Table::from_changes(std::move(changes));
}

StoreChanges header_change(std::uint64_t number) {
    StoreChanges changes;
    HeaderRecord record;
    record.arrival = number;
    changes.headers.emplace_back(hash_of(number), record);
    return changes;
}

}  // namespace

TEST_CASE("of several changes to one key the last counts, in a table and in tables merged") {
    const auto seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    for (int round = 0; round < 300; ++round) {
        std::map<int, std::optional<int>> model;
        const Table older = random_table(random, model);
        CHECK(older.entries().size() == model.size());
        const Table merged = Table::merge(older, random_table(random, model));
        REQUIRE(merged.entries().size() == model.size());
        for (int key = -1; key <= 30; ++key) {
            const auto* found = merged.find(key);
            const auto expected = model.find(key);
            REQUIRE((found != nullptr) == (expected != model.end()));
            if (found != nullptr) CHECK(*found == expected->second);
        }
        CHECK(std::ranges::is_sorted(merged.entries(), {}, &Table::Entry::key));
    }
}

TEST_CASE("thousands of applied changes are a handful of layers, and each is found") {
    LayerStack stack;
    constexpr std::uint64_t kChanges = 5000;
    std::size_t most = 0;
    for (std::uint64_t i = 0; i < kChanges; ++i) {
        stack = stack.with(Layer::from_changes(header_change(i)));
        most = std::max(most, stack.layers.size());
    }
    CHECK(most <= 13);  // the logarithm of 5000
    for (std::uint64_t i = 0; i < kChanges; ++i) {
        const auto* found = stack.find(&Layer::headers, hash_of(i));
        REQUIRE(found != nullptr);
        CHECK(found->arrival == i);
    }
    CHECK(stack.find(&Layer::headers, hash_of(kChanges)) == nullptr);
    CHECK(stack.merged()->headers.entries().size() == kChanges);
}

TEST_CASE("a stack that was handed out does not change when another is made from it") {
    LayerStack stack = LayerStack{}.with(Layer::from_changes(header_change(1)));
    const LayerStack held = stack;
    StoreChanges changes = header_change(1);
    changes.headers[0].second.arrival = 99;
    stack = stack.with(Layer::from_changes(changes));
    CHECK(held.find(&Layer::headers, hash_of(1))->arrival == 1);
    CHECK(stack.find(&Layer::headers, hash_of(1))->arrival == 99);
}

TEST_CASE("events and the tip of merged layers are those of both, in order") {
    LayerStack stack;
    for (std::uint32_t i = 0; i < 10; ++i) stack = stack.with(Layer::from_changes(step(i, i, {})));
    stack = stack.with(Layer::from_changes(header_change(1000)));
    const auto merged = stack.merged();
    REQUIRE(merged->events.size() == 10);
    for (std::uint32_t i = 0; i < 10; ++i) CHECK(merged->events[i].index == i);
    CHECK(merged->tip == Tip{hash_of(9), {9}});
    CHECK(LayerStack{}.merged() == nullptr);
}
