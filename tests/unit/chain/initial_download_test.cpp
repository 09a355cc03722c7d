// SPDX-License-Identifier: MIT
#include "chain/initial_download.hpp"

#include "event_script.hpp"
#include "support/regtest_chain.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;

namespace {

constexpr std::int64_t kDownloadNow = 1'600'000'000;
constexpr std::int64_t kDay = 24 * 60 * 60;

struct Question {
    std::int64_t tip_time;
    std::uint64_t work;
    bool importing;
    bool holds;
};

struct DownloadCase {
    std::string name;
    std::vector<Question> questions;
};

const DownloadCase kDownloadCases[] = {
    {"fresh tip with enough work", {{kDownloadNow, 100, false, false}}},
    {"exactly as old as allowed", {{kDownloadNow - kDay, 100, false, false}}},
    {"a second too old", {{kDownloadNow - kDay - 1, 100, false, true}}},
    {"from the future", {{kDownloadNow + 7200, 100, false, false}}},
    {"less work than the chain is known to have", {{kDownloadNow, 99, false, true}}},
    {"importing", {{kDownloadNow, 100, true, true}}},
    {"left for good: an old tip", {{kDownloadNow, 100, false, false}, {0, 100, false, false}}},
    {"left for good: less work", {{kDownloadNow, 100, false, false}, {kDownloadNow, 0, false, false}}},
    {"left for good: an import", {{kDownloadNow, 100, false, false}, {kDownloadNow, 100, true, false}}},
    {"not left by an import's own blocks",
     {{kDownloadNow, 100, true, true}, {kDownloadNow, 100, true, true}, {kDownloadNow, 100, false, false}}},
};

}  // namespace

TEST_SUITE_BEGIN("chain.initial_download");

TEST_CASE("initial download holds until all is well once") {
    Clock clock;
    clock.set_fixed(kDownloadNow);
    for (const DownloadCase& c : kDownloadCases) {
        CAPTURE(c.name);
        InitialDownload initial_download(clock, Uint256(100), std::chrono::seconds{kDay});
        for (const Question& q : c.questions) {
            CHECK(initial_download.holds(q.tip_time, Uint256(q.work), q.importing) == q.holds);
        }
    }
}

TEST_CASE("the block that ends initial download is announced outside of it, and it stays left") {
    auto options = RegtestChain::default_options();
    const auto a = build_branch(regtest_genesis(), 3);
    options.chain.max_tip_age = std::chrono::seconds{RegtestChain::kNow - a[1].time};
    RegtestChain node(options);
    EventScript script;
    script.name_branch(a, "a");
    CHECK(node.chain().status().initial_download);
    node.submit_all(a);
    CHECK(script.tell(node.released()) == "Cg Tg<00000000(ibd) Ca1 Ta1<g(ibd) Ca2 Ta2<a1 Ca3 Ta3<a2");
    CHECK_FALSE(node.chain().status().initial_download);
    must(node.chain().invalidate_block(a[0].hash));
    CHECK(script.tell(node.released()) == "Da3 Da2 Da1 Tg<g");
    CHECK_FALSE(node.chain().status().initial_download);
}

TEST_CASE("minimum work keeps initial download, whatever the tip's age") {
    auto options = RegtestChain::default_options();
    options.chain.minimum_chainwork = Uint256(2 * 3);  // genesis and two more
    RegtestChain node(options);
    EventScript script;
    const auto a = build_branch(regtest_genesis(), 2);
    script.name_branch(a, "a");
    node.submit_all(a);
    CHECK(script.tell(node.released()) == "Cg Tg<00000000(ibd) Ca1 Ta1<g(ibd) Ca2 Ta2<a1");
}

TEST_CASE("an import is initial download throughout, and leaves it at its end") {
    RegtestChain node(RegtestChain::default_options(), RegtestChain::NotStarted{});
    node.options().chain.minimum_chainwork = Uint256(4);  // so that genesis does not leave it
    node.start();
    EventScript script;
    const auto a = build_branch(regtest_genesis(), 3);
    script.name_branch(a, "a");
    static_cast<void>(node.released());
    node.chain().begin_import();
    CHECK(node.chain().status().importing);
    for (std::size_t i = 0; i < 2; ++i) must(node.chain().import_block(must(ParsedBlock::parse(a[i].raw))));
    must(node.chain().end_import());
    CHECK(script.tell(node.released()) == "Ca1 Ta1<g(ibd) Ca2 Ta2<a1(ibd)");
    CHECK_FALSE(node.chain().status().importing);
    CHECK_FALSE(node.chain().status().initial_download);
    CHECK(node.submit(a[2]).empty());
    CHECK(script.tell(node.released()) == "Ca3 Ta3<a2");
}
