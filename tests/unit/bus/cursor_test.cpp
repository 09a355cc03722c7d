// SPDX-License-Identifier: MIT
#include "unit/bus/bus_fixture.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace blockpub;
using namespace blockpub::test;

namespace {

void release(Bus& bus, MemoryLog& log, const EventRecord& record) {
    log.append(record);
    bus.release_blocks(std::span(&record, 1));
}

BusOptions tiny(MemoryLog& log) {
    return BusOptions{.memory_limit = 1, .log = &log, .next_index = 0, .logger = nullptr};
}

}  // namespace

TEST_SUITE("bus.cursor") {
    TEST_CASE("a cursor begins with what is released after it was opened") {
        Bus bus(BusOptions{.next_index = 5});
        const std::vector<EventRecord> records{connected(5), connected(6)};
        bus.release_blocks(std::span(records).first(1));
        const auto cursor = bus.open_cursor({});
        CHECK(cursor->next_index() == 6);
        CHECK(*cursor->peek() == nullptr);
        bus.release_blocks(std::span(records).last(1));
        CHECK(take_all(*cursor) == Lines{"C 6", "T 6"});
        CHECK(cursor->next_index() == 7);
        CHECK(bus.next_index() == 7);
    }

    TEST_CASE("events come in the order of their release, a step's tip update behind its last record") {
        Bus bus(BusOptions{});
        const auto cursor = bus.open_cursor({});
        const std::vector<EventRecord> records{connected(0), connected(1), disconnected(2, 1, false),
                                               connected(3, false), connected(4)};
        bus.release_blocks(std::span(records).first(2));
        bus.release_mempool(added(1));
        bus.release_blocks(std::span(records).subspan(2));
        bus.release_mempool(TransactionRemovedFromMempool{txid_of(1), MempoolSequence{2}});
        CHECK(take_all(*cursor) ==
              Lines{"C 0", "T 0", "C 1", "T 1", "A 1", "D 2", "C 3", "C 4", "T 4", "R 2"});
    }

    TEST_CASE("blocks that are given up are told in their place, from memory and from the log") {
        const std::vector<EventRecord> records{connected(0),
                                               {.index = 1,
                                                .kind = BlockEventKind::pruned,
                                                .hash = {},
                                                .previous_hash = {},
                                                .height = {7},
                                                .step_end = {}},
                                               connected(2)};
        for (const bool from_log : {false, true}) {
            CAPTURE(from_log);
            MemoryLog log;
            Bus bus(from_log ? tiny(log) : BusOptions{});
            const auto cursor = bus.open_cursor({});
            for (const EventRecord& record : records) release(bus, log, record);
            CHECK(take_all(*cursor) == Lines{"C 0", "T 0", "P 1", "C 2", "T 2"});
            CHECK(cursor->next_index() == 3);
        }
    }

    TEST_CASE("peek gives the same event until advance") {
        Bus bus(BusOptions{});
        const auto cursor = bus.open_cursor({});
        bus.release_mempool(added(1));
        const auto first = cursor->peek();
        CHECK(*first == *cursor->peek());
        cursor->advance();
        CHECK(*cursor->peek() == nullptr);
    }

    TEST_CASE("a tip update says where the step ended and forked off") {
        Bus bus(BusOptions{});
        const auto cursor = bus.open_cursor({});
        std::vector<EventRecord> records{connected(0), disconnected(1, 7)};
        records[0].step_end = EventRecord::StepEnd{hash_of(77), Height{3}, true};
        bus.release_blocks(records);
        static_cast<void>(cursor->peek());
        cursor->advance();
        const auto up = std::get<UpdatedBlockTip>(**cursor->peek());
        CHECK(up.tip_hash == records[0].hash);
        CHECK(up.tip_height == Height{0});
        CHECK(up.fork_hash == hash_of(77));
        CHECK(up.fork_height == Height{3});
        CHECK(up.initial_download);
        cursor->advance();
        static_cast<void>(cursor->peek());
        cursor->advance();
        const auto down = std::get<UpdatedBlockTip>(**cursor->peek());
        CHECK(down.tip_hash == records[1].previous_hash);
        CHECK(down.tip_height == Height{6});
        CHECK(down.fork_hash == down.tip_hash);
        CHECK_FALSE(down.initial_download);
    }

    TEST_CASE("the wake-up is called at each release and never after the cursor's end") {
        Bus bus(BusOptions{});
        int calls = 0;
        {
            const auto cursor = bus.open_cursor([&] { ++calls; });
            bus.release_mempool(added(1));
            bus.release_mempool(added(2));
            CHECK(calls == 2);
        }
        bus.release_mempool(added(3));
        CHECK(calls == 2);
    }

    TEST_CASE("a wake-up that throws harms nobody") {
        Bus bus(BusOptions{});
        int calls = 0;
        const auto bad = bus.open_cursor([] { throw std::runtime_error("no"); });
        const auto good = bus.open_cursor([&] { ++calls; });
        bus.release_mempool(added(1));
        CHECK(calls == 1);
        CHECK(take_all(*good) == Lines{"A 1"});
        CHECK(take_all(*bad) == Lines{"A 1"});
    }

    TEST_CASE("an event is freed when the last cursor is past it, and at once when there is none") {
        Bus bus(BusOptions{});
        const TransactionAddedToMempool event = added(1, 5000);
        bus.release_mempool(event);
        CHECK(event.raw.use_count() == 1);
        const auto first = bus.open_cursor({});
        auto second = bus.open_cursor({});
        bus.release_mempool(event);
        CHECK(event.raw.use_count() == 2);
        CHECK(bus.memory_used() > 5000);
        static_cast<void>(take_all(*first));
        CHECK(event.raw.use_count() == 2);
        SUBCASE("by passing it") {
            static_cast<void>(take_all(*second));
        }
        SUBCASE("by ending") {
            second.reset();
        }
        CHECK(event.raw.use_count() == 1);
        CHECK(bus.memory_used() == 0);
    }

    TEST_CASE("beyond the memory limit blocks come from the log and mempool events are lost and counted") {
        MemoryLog log;
        Bus bus(tiny(log));
        const auto cursor = bus.open_cursor({});
        for (EventIndex i = 0; i < 1000; ++i) {
            release(bus, log, connected(i, i % 3 == 0));
            bus.release_mempool(added(i));
        }
        CHECK(bus.memory_used() == 0);
        CHECK(cursor->mempool_events_lost() == 1000);
        Lines expected;
        for (EventIndex i = 0; i < 1000; ++i) {
            expected.push_back("C " + std::to_string(i));
            if (i % 3 == 0) expected.push_back("T " + std::to_string(i));
        }
        CHECK(take_all(*cursor) == expected);
        CHECK(cursor->mempool_events_lost() == 1000);
        CHECK(cursor->next_index() == 1000);
        CHECK(log.reads() <= 5);
    }

    TEST_CASE("an event that peek has given is not counted as lost when the window gives it up") {
        MemoryLog log;
        Bus bus(BusOptions{.memory_limit = 3000, .log = &log});
        const auto cursor = bus.open_cursor({});
        bus.release_mempool(added(1, 2000));
        const auto held = cursor->peek();
        REQUIRE(*held != nullptr);
        bus.release_mempool(added(2, 2000));
        bus.release_mempool(added(3, 2000));
        CHECK(line_of(**held) == "A 1");
        CHECK(cursor->mempool_events_lost() == 1);
        cursor->advance();
        CHECK(cursor->mempool_events_lost() == 1);
        CHECK(take_all(*cursor) == Lines{"A 3"});
        CHECK(cursor->mempool_events_lost() == 1);
    }

    TEST_CASE("without a log nothing is given up") {
        Bus bus(BusOptions{.memory_limit = 1});
        const auto cursor = bus.open_cursor({});
        for (std::uint64_t i = 0; i < 100; ++i) bus.release_mempool(added(i));
        CHECK(take_all(*cursor).size() == 100);
        CHECK(cursor->mempool_events_lost() == 0);
    }

    TEST_CASE("a log that fails or throws is an error, and the next peek tries again") {
        MemoryLog log;
        Bus bus(tiny(log));
        const auto cursor = bus.open_cursor({});
        release(bus, log, connected(0));
        log.fail_reads(2);
        CHECK(cursor->peek().error().code == Errc::io);
        CHECK(cursor->peek().error().code == Errc::io);
        log.throw_reads(1);
        CHECK(cursor->peek().error().code == Errc::io);
        CHECK(take_all(*cursor) == Lines{"C 0", "T 0"});
    }

    TEST_CASE("a log that lacks what was released is corrupt") {
        struct HoledLog final : EventLog {
            std::vector<EventRecord> records;
            Result<std::vector<EventRecord>> read_events(EventIndex, std::size_t) override { return records; }
        } log;
        Bus bus(BusOptions{.memory_limit = 1, .log = &log});
        const auto cursor = bus.open_cursor({});
        const std::vector<EventRecord> records{connected(0), connected(1)};
        bus.release_blocks(records);
        CHECK(cursor->peek().error().code == Errc::corrupt);
        log.records = {records[1]};
        CHECK(cursor->peek().error().code == Errc::corrupt);
        log.records = records;
        CHECK(take_all(*cursor).size() == 4);
    }

    TEST_CASE(
        "any mixture of releases, limits and cursors gives every cursor the whole order but its lost mempool "
        "events") {
        const auto seed = std::random_device{}();
        CAPTURE(seed);
        std::mt19937 random(seed);
        const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
        for (int round = 0; round < 60; ++round) {
            MemoryLog log;
            Bus bus(BusOptions{.memory_limit = 1 + below(8000), .log = &log});
            struct Follower {
                std::unique_ptr<EventCursor> cursor;
                std::size_t opened_at;
                Lines got;
                bool peeked = false;
            };
            std::vector<Follower> followers;
            Lines released;
            EventIndex index = 0;
            const auto take = [&](Follower& follower) {
                const auto event = follower.cursor->peek();
                REQUIRE(event.has_value());
                follower.peeked = *event != nullptr;
                if (!follower.peeked) return false;
                if (below(4) == 0) return true;  // held over later releases
                follower.got.push_back(line_of(**event));
                follower.cursor->advance();
                return true;
            };
            for (int action = 0; action < 400; ++action) {
                const unsigned what = below(10);
                if (what == 0 && followers.size() < 5) {
                    followers.push_back({bus.open_cursor({}), released.size(), {}});
                } else if (what == 1 && !followers.empty()) {
                    if (below(10) == 0) followers.pop_back();
                } else if (what < 4) {
                    std::vector<EventRecord> batch;
                    for (unsigned n = 1 + below(5); n > 0; --n) {
                        const bool end = below(2) == 0;
                        batch.push_back(below(3) == 0 ? disconnected(index, 9, end) : connected(index, end));
                        log.append(batch.back());
                        released.push_back((batch.back().kind == BlockEventKind::connected ? "C " : "D ") +
                                           std::to_string(index));
                        if (end) released.push_back("T " + std::to_string(index));
                        ++index;
                    }
                    bus.release_blocks(batch);
                } else if (what < 6) {
                    bus.release_mempool(added(static_cast<std::uint64_t>(action), below(2000)));
                    released.push_back("A " + std::to_string(action));
                } else if (!followers.empty()) {
                    Follower& follower = followers[below(static_cast<unsigned>(followers.size()))];
                    for (unsigned n = below(12); n > 0 && take(follower); --n) {
                    }
                }
            }
            for (Follower& follower : followers) {
                for (const std::string& line : take_all(*follower.cursor)) follower.got.push_back(line);
                std::uint64_t lost = 0;
                std::size_t at = 0;
                for (std::size_t i = follower.opened_at; i < released.size(); ++i) {
                    if (at < follower.got.size() && follower.got[at] == released[i]) {
                        ++at;
                    } else {
                        CHECK_MESSAGE(released[i][0] == 'A', released[i]);
                        ++lost;
                    }
                }
                CHECK(at == follower.got.size());
                CHECK(follower.cursor->mempool_events_lost() == lost);
                CHECK(follower.cursor->next_index() == index);
            }
            CHECK(bus.memory_used() == 0);
        }
    }
}
