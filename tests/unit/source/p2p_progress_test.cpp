// SPDX-License-Identifier: MIT
#include "source/p2p_progress.hpp"

#include "recording_logger.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

using namespace blockpub;
using blockpub::test::RecordingLogger;

TEST_SUITE_BEGIN("source.p2p_progress");

namespace {

using std::chrono::seconds;

struct ProgressFixture {
    struct Sink final : ProgressSink {
        void show(std::string_view line) noexcept override { last = line; }
        std::string last = "nothing yet";
    };
    void tick(const FollowProgress::State& state, seconds later = seconds(1)) {
        now += later;
        progress.tick(state, now);
    }
    std::size_t lines_with(std::string_view text) const {
        return logger.count(LogLevel::info, text) + logger.count(LogLevel::warning, text);
    }
    RecordingLogger logger;
    Sink sink;
    FollowProgress progress{seconds(5), Log(&logger, LogCategory::net), &sink};
    FollowProgress::Time now{std::chrono::hours(1)};
};

}  // namespace

TEST_CASE("a download is told of while it lasts, and once when it is done") {
    ProgressFixture f;
    f.tick({.height = 0, .best_header = 1000, .peers = 1, .nodes = 1});
    CHECK(f.lines_with("height 0 of 1000 (0.0%)") == 1);
    for (std::uint64_t height = 100; height < 1000; height += 100)
        f.tick({.height = height, .best_header = 1000, .peers = 1, .nodes = 1});
    CHECK(f.sink.last.find("height 900 of 1000 (90.0%), 100 blocks/s") != std::string::npos);
    CHECK(f.lines_with("Following: height") == 2);
    f.tick({.height = 1000, .best_header = 1000, .peers = 1, .nodes = 1});
    f.tick({.height = 1000, .best_header = 1000, .peers = 1, .nodes = 1});
    CHECK(f.lines_with("caught up at height 1000, 1000 blocks later") == 1);
    CHECK(f.sink.last.empty());
}

TEST_CASE("a chain that is shorter than the one that was left is caught up with, by no blocks") {
    ProgressFixture f;
    f.tick({.height = 1000, .best_header = 1100, .peers = 1, .nodes = 1});
    f.tick({.height = 990, .best_header = 990, .peers = 1, .nodes = 1});
    CHECK(f.lines_with("caught up at height 990, 0 blocks later") == 1);
}

TEST_CASE("without a peer nobody has caught up") {
    ProgressFixture f;
    f.tick({.height = 10, .best_header = 1000, .peers = 1, .nodes = 2});
    f.tick({.height = 10, .best_header = 0, .peers = 0, .nodes = 2});
    f.tick({.height = 10, .best_header = 0, .peers = 0, .nodes = 2}, seconds(70));
    CHECK(f.lines_with("caught up") == 0);
    CHECK(f.sink.last == "Following: height 10, no node is connected");
    const PeerList::Lag& lag = f.progress.lag();
    CHECK(lag.nodes == 2);
    CHECK(lag.connected == 0);
    CHECK(lag.alone_for == seconds(70));
    // It is as far behind as it was when that was last known.
    CHECK(lag.blocks == 990);
    CHECK(lag.behind_for == seconds(71));
    f.tick({.height = 10, .best_header = 1000, .peers = 1, .nodes = 2});
    CHECK(f.progress.lag().alone_for == seconds(0));
    // Blocks may come in another way.
    f.tick({.height = 1000, .best_header = 0, .peers = 0, .nodes = 2});
    CHECK(f.progress.lag().blocks == 0);
    CHECK(f.progress.lag().behind_for == seconds(0));
}

TEST_CASE("who calls nobody is not alone") {
    ProgressFixture f;
    f.tick({.height = 10});
    f.tick({.height = 10}, seconds(1000));
    CHECK(f.progress.lag().alone_for == seconds(0));
    CHECK(f.progress.lag().behind_for == seconds(0));
}

TEST_CASE("a few blocks behind are told of when it lasts, and again after ten minutes") {
    ProgressFixture f;
    const FollowProgress::State behind{.height = 98, .best_header = 100, .peers = 1, .nodes = 1};
    f.tick(behind);
    f.tick(behind, seconds(59));
    CHECK(f.lines_with("behind") == 0);
    f.tick(behind);
    CHECK(f.lines_with("2 blocks behind for 60 s, at height 98 of 100, 1 peers") == 1);
    f.tick(behind, seconds(500));
    CHECK(f.lines_with("behind") == 1);
    f.tick(behind, seconds(100));
    CHECK(f.lines_with("behind") == 2);
    f.tick({.height = 100, .best_header = 100, .peers = 1, .nodes = 1});
    CHECK(f.progress.lag().blocks == 0);
    CHECK(f.progress.lag().behind_for == seconds(0));
}

TEST_CASE("blocks that come and are taken leave no lag") {
    ProgressFixture f;
    for (std::uint64_t height = 100; height < 400; ++height) {
        f.tick({.height = height, .best_header = height + 1, .peers = 1, .nodes = 1});
        f.tick({.height = height + 1, .best_header = height + 1, .peers = 1, .nodes = 1});
    }
    CHECK(f.lines_with("behind") == 0);
}

TEST_SUITE_END();
