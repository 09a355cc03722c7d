// SPDX-License-Identifier: MIT
#include "node_parts.hpp"

#include <doctest/doctest.h>
#include <lmdb.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

namespace blockpub::test {
namespace {

using Point = StoreFaults::Point;

constexpr int kForEver = 1 << 30;

std::size_t lines_with(const LineLogger& logger, const std::string& text) {
    const auto lines = logger.complaints();
    return static_cast<std::size_t>(
        std::ranges::count_if(lines, [&](const std::string& line) { return line.contains(text); }));
}

TEST_SUITE("integration.fault_injection") {
    TEST_CASE("a block whose read fails once is announced whole, and its notifiers stay") {
        const TemporaryDirectory directory;
        NodeParts node(directory.path());
        TestSubscriber subscriber(node.publisher->status().endpoint);
        node.synchronize(subscriber);

        const BuiltBlock before = node.next_block();
        node.connect(before);
        const BuiltBlock unreadable = node.next_block();
        node.reader->fail_on(unreadable.hash, 1);
        node.connect(unreadable);
        const BuiltBlock after = node.next_block();
        node.connect(after);

        for (const BuiltBlock& block : {before, unreadable, after}) node.expect_block(subscriber, block);
        const PublisherStatus status = node.publisher->status();
        CHECK(status.read_failures == 1);
        CHECK(status.send_failures == 0);
        CHECK_FALSE(status.failing);
        CHECK(status.last_error.contains("injected"));
        CHECK(status.topics.size() == 5);
        CHECK(lines_with(node.logger, "injected") == 1);
    }

    TEST_CASE("an endpoint that cannot read its block holds up no other, nor the chain, and says so") {
        const TemporaryDirectory directory;
        NodeParts node(directory.path());
        TestSubscriber subscriber(node.publisher->status().endpoint);
        node.synchronize(subscriber);
        auto healthy = node.make_publisher(*node.blocks);
        TestSubscriber healthy_subscriber(healthy->status().endpoint);
        while (!healthy_subscriber.receive(200)) {
            const BuiltBlock block = node.next_block();
            node.connect(block);
            node.expect_block(subscriber, block);
        }

        const BuiltBlock unreadable = node.next_block();
        node.reader->fail_on(unreadable.hash, kForEver);
        node.connect(unreadable);
        const BuiltBlock after = node.next_block();
        node.connect(after);
        CHECK(eventually([&] { return node.publisher->status().failing; }));
        std::optional<Message> last;
        do {
            last = healthy_subscriber.receive(30'000);
            REQUIRE(last.has_value());
        } while (last->topic != "rawblock" || !std::ranges::equal(last->body, after.raw.bytes()));
        CHECK(eventually([&] { return node.publisher->status().read_failures > 3; }));
        CHECK(lines_with(node.logger, "injected") == 1);

        node.reader->stop_failing();
        node.expect_block(subscriber, unreadable);
        node.expect_block(subscriber, after);
        CHECK(eventually([&] { return !node.publisher->status().failing; }));
        healthy.reset();
    }

    TEST_CASE("a write that fails before the sync is done again, and announced once") {
        struct Case {
            const char* name;
            Point point;
            int code;
        };
        const std::vector<Case> cases = {
            {"segment put, no space", Point::segment_put, ENOSPC},
            {"segment put, map full", Point::segment_put, MDB_MAP_FULL},
            {"segment put, i/o error", Point::segment_put, EIO},
            {"segment commit, no space", Point::segment_commit, ENOSPC},
            {"segment commit, map full", Point::segment_commit, MDB_MAP_FULL},
            {"segment commit, i/o error", Point::segment_commit, EIO},
            {"chain put, no space", Point::chain_put, ENOSPC},
            {"chain put, map full", Point::chain_put, MDB_MAP_FULL},
            {"chain put, i/o error", Point::chain_put, EIO},
            {"chain commit, no space", Point::chain_commit, ENOSPC},
            {"chain commit, map full", Point::chain_commit, MDB_MAP_FULL},
            {"chain commit, i/o error", Point::chain_commit, EIO},
        };
        const TemporaryDirectory directory;
        NodeParts node(directory.path());
        TestSubscriber subscriber(node.publisher->status().endpoint);
        node.synchronize(subscriber);
        for (const Case& c : cases) {
            CAPTURE(c.name);
            for (const int times : {1, 5}) {
                CAPTURE(times);
                const StoreStatus before = node.store->status();
                const int failed = node.faults.failed();
                node.faults.fail_next(c.point, c.code, times);
                const BuiltBlock block = node.next_block();
                node.connect(block);
                node.expect_block(subscriber, block);
                const StoreStatus after = node.store->status();
                CHECK(node.faults.failed() == failed + times);
                CHECK(after.failed_commits - before.failed_commits == static_cast<std::uint64_t>(times));
                CHECK_FALSE(after.write_stopped);
                CHECK_FALSE(after.last_error.empty());
                CHECK(after.pending_bytes == 0);
                CHECK(node.chain->status().write_error.empty());
            }
        }
        // The store is as if nothing had happened.
        const auto snapshot = node.store->snapshot();
        REQUIRE(snapshot.has_value());
        CHECK(snapshot->tip()->hash == node.tip.hash);
        CHECK(snapshot->next_event() == node.tip.height.value + 1);
    }

    TEST_CASE("while a write fails nothing is announced, queries go on, and the state is shown") {
        const TemporaryDirectory directory;
        NodeParts node(directory.path());
        TestSubscriber subscriber(node.publisher->status().endpoint);
        node.synchronize(subscriber);
        const BuiltBlock before = node.tip;

        node.faults.fail_next(Point::chain_commit, ENOSPC, kForEver);
        const BuiltBlock block = node.next_block();
        std::thread submitter([&] { node.connect(block); });
        REQUIRE(eventually([&] { return node.faults.failed() > 3; }));
        CHECK_FALSE(node.chain->status().write_error.empty());
        CHECK_FALSE(node.chain->status().write_stopped);
        CHECK(node.chain->status().durable_events == before.height.value + 1);
        CHECK_FALSE(subscriber.receive(50).has_value());
        {
            const auto snapshot = node.store->snapshot();
            REQUIRE(snapshot.has_value());
            CHECK(snapshot->header(before.hash).has_value());
        }
        CHECK(node.store->block_reader().read_block(before.hash).has_value());
        const std::size_t complaints = node.logger.complaints().size();
        CHECK(complaints >= 1);
        CHECK(complaints <= 2);

        node.faults.fail_next(Point::chain_commit, ENOSPC, 0);
        submitter.join();
        node.expect_block(subscriber, block);
        CHECK(node.chain->status().write_error.empty());
        CHECK(node.chain->status().durable_events == block.height.value + 1);
    }

    TEST_CASE("a sync that fails stops writing for good: nothing more is announced, reading goes on") {
        for (const Point point : {Point::segment_sync, Point::chain_sync}) {
            CAPTURE(static_cast<int>(point));
            const TemporaryDirectory directory;
            BlockHash durable;
            {
                NodeParts node(directory.path());
                TestSubscriber subscriber(node.publisher->status().endpoint);
                node.synchronize(subscriber);
                durable = node.tip.hash;

                node.faults.fail_next(point, EIO, 1);
                const BuiltBlock lost = node.next_block();
                const auto outcome = node.chain->submit_block(lost.raw);
                REQUIRE_FALSE(outcome.has_value());
                CHECK(outcome.error().code == Errc::outcome_unknown);
                const auto again = node.chain->submit_block(node.next_block().raw);
                REQUIRE_FALSE(again.has_value());
                CHECK(again.error().code == Errc::outcome_unknown);
                CHECK(node.store->status().write_stopped);
                CHECK(node.chain->status().write_stopped);
                CHECK(node.chain->status().durable_events == node.tip.height.value + 1);
                CHECK_FALSE(node.logger.complaints().empty());

                const auto snapshot = node.store->snapshot();
                REQUIRE(snapshot.has_value());
                CHECK(snapshot->header(durable).has_value());
                CHECK(node.store->block_reader().read_block(durable).has_value());
                CHECK_FALSE(subscriber.receive(100).has_value());
            }
            NodeParts reopened(directory.path());
            const auto snapshot = reopened.store->snapshot();
            REQUIRE(snapshot.has_value());
            CHECK(snapshot->header(durable).has_value());
            CHECK(snapshot->tip()->height.value + 1 == snapshot->next_event().value());
        }
    }
}

}  // namespace
}  // namespace blockpub::test
