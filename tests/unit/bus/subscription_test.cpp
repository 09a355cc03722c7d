// SPDX-License-Identifier: MIT
#include "unit/bus/bus_fixture.hpp"

#include <doctest/doctest.h>
#include <pthread.h>

#include <atomic>
#include <latch>
#include <optional>
#include <thread>

using namespace blockpub;
using namespace blockpub::test;

namespace {

constexpr std::uint64_t kPatience = 20'000;

void release_added(Bus& bus, std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t i = first; i < first + count; ++i) bus.release_mempool(added(i));
}

}  // namespace

TEST_SUITE("bus.subscription") {
    TEST_CASE("handlers get all events in order, on a thread with the subscription's name") {
        Bus bus(BusOptions{});
        std::string name;
        Recorder recorder([&](const Event&) {
            char buffer[32];
            pthread_getname_np(pthread_self(), buffer, sizeof buffer);
            name = buffer;
        });
        const Subscription subscription = bus.subscribe("listener", recorder);
        const std::vector<EventRecord> records{connected(0), connected(1)};
        bus.release_blocks(records);
        REQUIRE(bus.wait_until_drained(kPatience));
        CHECK(recorder.lines() == Lines{"C 0", "T 0", "C 1", "T 1"});
        CHECK(name == "listener");
        CHECK(subscription.next_index() == 2);
    }

    TEST_CASE("a handler that throws is counted and gets the next event all the same") {
        Bus bus(BusOptions{});
        Recorder bad([](const Event& event) {
            if (line_of(event) == "A 1") throw std::runtime_error("bad");
            if (line_of(event) == "A 2") throw 7;
        });
        Recorder good;
        const Subscription first = bus.subscribe("bad", bad);
        const Subscription second = bus.subscribe("good", good);
        release_added(bus, 1, 3);
        REQUIRE(bus.wait_until_drained(kPatience));
        CHECK(bad.lines() == Lines{"A 3"});
        CHECK(first.handler_failures() == 2);
        CHECK(good.lines() == Lines{"A 1", "A 2", "A 3"});
        CHECK(second.handler_failures() == 0);
    }

    TEST_CASE("a handler that blocks delays neither the issuer nor another subscriber") {
        Bus bus(BusOptions{});
        std::latch unblock(1);
        Recorder stuck([&](const Event&) { unblock.wait(); });
        Recorder healthy;
        const Subscription first = bus.subscribe("stuck", stuck);
        const Subscription second = bus.subscribe("healthy", healthy);
        release_added(bus, 0, 500);
        CHECK(healthy.wait_for(500));
        CHECK(stuck.lines().empty());
        CHECK_FALSE(bus.wait_until_drained(0));
        unblock.count_down();
        CHECK(bus.wait_until_drained(kPatience));
        CHECK(stuck.lines() == healthy.lines());
    }

    TEST_CASE("a handler whose thread ends harms nobody and nothing is kept for it") {
        Bus bus(BusOptions{});
        Recorder dying([](const Event&) { pthread_exit(nullptr); });
        Recorder healthy;
        const Subscription first = bus.subscribe("dying", dying);
        const Subscription second = bus.subscribe("healthy", healthy);
        release_added(bus, 0, 50);
        CHECK(bus.wait_until_drained(kPatience));
        CHECK(healthy.lines().size() == 50);
        CHECK(bus.memory_used() == 0);
    }

    TEST_CASE("the end of a subscription waits for the call under way and no call comes later") {
        Bus bus(BusOptions{});
        std::latch entered(1);
        std::atomic<bool> returned{false};
        std::atomic<bool> ended{false};
        std::atomic<int> late{0};
        std::latch unblock(1);
        Recorder recorder([&](const Event&) {
            if (ended.load()) late.fetch_add(1);
            entered.count_down();
            unblock.wait();
            returned.store(true);
        });
        std::optional<Subscription> subscription(bus.subscribe("ending", recorder));
        release_added(bus, 0, 1);
        entered.wait();
        release_added(bus, 1, 10);
        std::jthread destroyer([&] {
            subscription.reset();
            CHECK(returned.load());
            ended.store(true);
        });
        unblock.count_down();
        destroyer.join();
        const std::size_t delivered = recorder.lines().size();
        CHECK(delivered >= 1);
        release_added(bus, 11, 10);
        CHECK(late.load() == 0);
        CHECK(recorder.lines().size() == delivered);
        CHECK(bus.memory_used() == 0);
    }

    TEST_CASE("a subscriber far behind catches up from the log, over failures of the log too") {
        MemoryLog log;
        Bus bus(BusOptions{.memory_limit = 1, .log = &log});
        std::latch unblock(1);
        Recorder recorder([&](const Event&) { unblock.wait(); });
        const Subscription subscription = bus.subscribe("behind", recorder);
        for (EventIndex i = 0; i < 700; ++i) {
            const EventRecord record = connected(i);
            log.append(record);
            bus.release_blocks(std::span(&record, 1));
            bus.release_mempool(added(i));
        }
        log.fail_reads(3);
        unblock.count_down();
        REQUIRE(bus.wait_until_drained(kPatience));
        Lines blocks;
        for (const std::string& line : recorder.lines()) {
            if (line[0] != 'A') blocks.push_back(line);
        }
        Lines expected;
        for (EventIndex i = 0; i < 700; ++i) {
            expected.push_back("C " + std::to_string(i));
            expected.push_back("T " + std::to_string(i));
        }
        CHECK(blocks == expected);
        CHECK(subscription.mempool_events_lost() + (recorder.lines().size() - blocks.size()) == 700);
    }

    TEST_CASE("a subscription ends at once while it waits to read the log again") {
        MemoryLog log;
        Bus bus(BusOptions{.memory_limit = 1, .log = &log});
        log.fail_reads(1'000'000);
        Recorder recorder;
        std::optional<Subscription> subscription(bus.subscribe("waiting", recorder));
        const EventRecord record = connected(0);
        bus.release_blocks(std::span(&record, 1));
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (log.reads() < 4 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
        CHECK(log.reads() >= 4);
        subscription.reset();
        CHECK(recorder.lines().empty());
    }

    TEST_CASE("after stop threads end, later events are ignored, and draining says so") {
        Bus bus(BusOptions{});
        Recorder recorder;
        const Subscription subscription = bus.subscribe("stopped", recorder);
        release_added(bus, 0, 2);
        REQUIRE(bus.wait_until_drained(kPatience));
        const auto cursor = bus.open_cursor({});
        bus.stop();
        const std::vector<EventRecord> records{connected(0), connected(1)};
        bus.release_blocks(std::span(records).first(1));
        bus.release_blocks(std::span(records).last(1));
        release_added(bus, 2, 2);
        CHECK(take_all(*cursor).empty());
        CHECK(bus.wait_until_drained(kPatience));
        CHECK(recorder.lines().size() == 2);
    }

    TEST_CASE("draining is for what was released before, and ends with the bus or when told to") {
        Bus bus(BusOptions{});
        const auto cursor = bus.open_cursor({});
        release_added(bus, 0, 1);
        int asked = 0;
        // Whoever asks is told nothing new: what is released meanwhile is not waited for.
        CHECK(bus.drain([&] {
            ++asked;
            release_added(bus, 1, 1);
            const auto next = cursor->peek();
            REQUIRE(next.has_value());
            REQUIRE(*next != nullptr);
            cursor->advance();
            return false;
        }));
        CHECK(asked == 1);
        CHECK_FALSE(bus.drain([&] { return ++asked == 3; }));
        CHECK(asked == 3);
        bus.stop();
        CHECK_FALSE(bus.drain([&] { return ++asked == 1'000; }));
        CHECK(asked == 3);
    }

    TEST_CASE("subscribing and unsubscribing go together with releasing") {
        MemoryLog log;
        Bus bus(BusOptions{.memory_limit = 4000, .log = &log});
        std::atomic<bool> done{false};
        std::vector<std::jthread> churn;
        std::atomic<std::uint64_t> disorder{0};
        std::atomic<std::uint64_t> delivered{0};
        for (int t = 0; t < 3; ++t) {
            churn.emplace_back([&] {
                do {
                    EventIndex last = 0;
                    Recorder recorder([&](const Event& event) {
                        delivered.fetch_add(1);
                        if (const auto* block = std::get_if<BlockConnected>(&event)) {
                            if (last != 0 && block->index != last + 1) disorder.fetch_add(1);
                            last = block->index;
                        }
                    });
                    const Subscription subscription = bus.subscribe("churn", recorder);
                    static_cast<void>(subscription.next_index());
                    static_cast<void>(subscription.mempool_events_lost());
                    static_cast<void>(recorder.wait_for(5, std::chrono::seconds(1)));
                } while (!done.load());
            });
        }
        EventIndex index = 0;
        while (delivered.load() < 2000) {
            const EventRecord record = connected(index++);
            log.append(record);
            bus.release_blocks(std::span(&record, 1));
            bus.release_mempool(added(index, 500));
        }
        done.store(true);
        // The last round of each thread may still wait for events.
        for (int i = 0; i < 20; ++i) release_added(bus, 1'000'000, 1);
        churn.clear();
        CHECK(disorder.load() == 0);
        CHECK(bus.memory_used() == 0);
    }
}
