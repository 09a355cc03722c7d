// SPDX-License-Identifier: MIT
#include "source/parse_pipeline.hpp"

#include "base/thread.hpp"
#include "unit/source/block_file_bytes.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

using namespace blockpub;
using namespace blockpub::test;
using namespace std::chrono_literals;

namespace {
std::chrono::steady_clock::time_point in(std::chrono::milliseconds time) {
    return std::chrono::steady_clock::now() + time;
}
using Kind = ParsePipeline::Taken::Kind;
}  // namespace

TEST_SUITE("source.parse_pipeline") {
    TEST_CASE("blocks come out parsed, in the order they went in, with what stood between them") {
        const auto branch = build_branch(regtest_genesis(), 300);
        ParsePipeline pipeline(4, 20'000);
        const std::jthread writer([&] {
            for (std::size_t i = 0; i < branch.size(); ++i) {
                CHECK(pipeline.put(
                    {.kind = ImportItem::Kind::block, .end_offset = i, .raw = branch[i].raw, .mark = {}}));
                if (i % 7 == 0)
                    CHECK(pipeline.put(
                        {.kind = ImportItem::Kind::position, .end_offset = i, .raw = {}, .mark = {}}));
            }
            pipeline.close();
        });
        std::size_t next = 0;
        std::size_t positions = 0;
        while (true) {
            auto taken = pipeline.take(in(60s));
            if (taken.kind == Kind::end) break;
            REQUIRE(taken.kind == Kind::item);
            if (taken.item.kind == ImportItem::Kind::position) {
                CHECK_FALSE(taken.parsed);
                CHECK(taken.item.end_offset + 1 == next);
                ++positions;
                continue;
            }
            REQUIRE(taken.parsed);
            REQUIRE(*taken.parsed);
            CHECK((*taken.parsed)->hash() == branch[next].hash);
            ++next;
        }
        CHECK(next == branch.size());
        CHECK(positions == 43);
    }

    TEST_CASE("a block that does not decode comes out as an error") {
        ParsePipeline pipeline(1, 1000);
        CHECK(pipeline.put(
            {.kind = ImportItem::Kind::block, .raw = SharedBytes::copy_of(Bytes(90, 1)), .mark = {}}));
        const auto taken = pipeline.take(in(60s));
        REQUIRE(taken.parsed);
        CHECK_FALSE(*taken.parsed);
    }

    TEST_CASE("taking from an empty pipeline waits for its deadline") {
        ParsePipeline pipeline(1, 1000);
        CHECK(pipeline.take(in(1ms)).kind == Kind::timeout);
        pipeline.close();
        CHECK(pipeline.take(in(60s)).kind == Kind::end);
    }

    TEST_CASE("an item larger than the limit passes alone, and stop wakes who waits for room") {
        ParsePipeline pipeline(1, 10);
        CHECK(pipeline.put({.kind = ImportItem::Kind::block, .raw = regtest_genesis().raw, .mark = {}}));
        std::atomic<bool> refused{false};
        std::jthread writer(
            [&] { refused = !pipeline.put({.kind = ImportItem::Kind::position, .raw = {}, .mark = {}}); });
        pipeline.stop();
        writer.join();
        CHECK(refused);
        CHECK(pipeline.take(in(60s)).kind == Kind::end);
    }
}
