// SPDX-License-Identifier: MIT
#include "source/p2p_presync.hpp"

#include "support/block_builder.hpp"
#include "support/header_builder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <span>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE_BEGIN("source.p2p_presync");

namespace {

constexpr std::size_t kMessage = 2000;
constexpr std::int64_t kNow = 1'700'000'000;
constexpr SipHashKey kKey{1, 2};

const ChainParams& params() {
    return chain_params(ChainKind::regtest);
}

HeaderDesk::Point genesis() {
    return {.hash = params().genesis_hash,
            .height = {0},
            .chainwork = block_work(0x207fffff),
            .bits = 0x207fffff,
            .failed = false};
}

HeaderPresync presync_for(std::uint64_t work) {
    return HeaderPresync(params(), genesis(), Uint256(work), kNow, kKey);
}

/// What a peer that has `headers` sends after `from`.
std::span<const BlockHeader> behind(const std::vector<BlockHeader>& headers, const BlockHash& from) {
    std::size_t at = 0;
    while (at < headers.size() && headers[at].previous != from) ++at;
    return std::span(headers).subspan(at, std::min(kMessage, headers.size() - at));
}

}  // namespace

TEST_CASE("a chain with the work is asked for twice, and all of it released in order") {
    const auto headers = make_headers(5300);
    HeaderPresync presync = presync_for(2 * 4500);  // reached within the third message
    std::vector<BlockHeader> released;
    BlockHash from = params().genesis_hash;
    unsigned messages = 0;
    while (true) {
        const auto message = behind(headers, from);
        const auto step = presync.take(message, message.size() == kMessage);
        REQUIRE(step.has_value());
        ++messages;
        if (!presync.second_look()) CHECK(step->release.empty());
        released.insert(released.end(), step->release.begin(), step->release.end());
        if (!step->ask_from) break;
        from = *step->ask_from;
    }
    CHECK(messages == 6);
    CHECK(released == headers);
}

TEST_CASE("a chain without the work ends, and nothing is released") {
    const auto headers = make_headers(2500);
    HeaderPresync presync = presync_for(1'000'000);
    const auto first = presync.take(std::span(headers).first(kMessage), true);
    REQUIRE(first.has_value());
    CHECK(first->ask_from == headers[kMessage - 1].hash());
    const auto last = presync.take(std::span(headers).subspan(kMessage), false);
    REQUIRE(last.has_value());
    CHECK(last->too_little_work);
    CHECK(last->release.empty());
    CHECK(presync.height().value == 2500);
}

TEST_CASE("other headers than at the first look are never released") {
    const auto headers = make_headers(4200);
    const auto others = make_headers(4200, 1);
    HeaderPresync presync = presync_for(2 * 4100);
    CHECK(presync.take(std::span(headers).first(kMessage), true).has_value());
    CHECK(presync.take(std::span(headers).subspan(kMessage, kMessage), true).has_value());
    CHECK(presync.take(std::span(headers).subspan(2 * kMessage), false)->ask_from == params().genesis_hash);
    const auto step = presync.take(std::span(others).first(kMessage), true);
    REQUIRE_FALSE(step.has_value());
    CHECK(step.error().context == "it sent other headers than before");
}

TEST_CASE("the last headers before enough work are held to the first look, too") {
    const auto headers = make_headers(1000);
    const auto others = make_headers(1000, 1);
    HeaderPresync presync = presync_for(2 * 900);
    CHECK(presync.take(headers, true)->ask_from == params().genesis_hash);
    CHECK(presync.take(others, true).error().context == "it sent other headers than before");
}

TEST_CASE("fewer headers than before are an error") {
    const auto headers = make_headers(1000);
    HeaderPresync presync = presync_for(2 * 900);
    static_cast<void>(presync.take(headers, true));
    CHECK(presync.take(std::span(headers).first(500), false).error().context ==
          "it sent fewer headers than before");
}

TEST_CASE("headers that do not connect, or without proof of work, are errors") {
    auto headers = make_headers(10);
    HeaderPresync stranded = presync_for(1'000'000);
    CHECK(stranded.take(std::span(headers).subspan(1), true).error().context ==
          "it sent headers that do not connect");
    HeaderPresync lazy = presync_for(1'000'000);
    while (meets_proof_of_work(headers[9].hash(), headers[9].bits, params().pow_limit)) ++headers[9].nonce;
    CHECK(lazy.take(headers, true).error().context == "it sent a header without proof of work (high-hash)");
}

TEST_CASE("a chain is not longer than time allows") {
    // At genesis: six headers a second for the two hours that a clock may be ahead.
    const std::int64_t start = BlockHeader::decode(params().genesis).time;
    HeaderPresync presync(params(), genesis(), Uint256(1'000'000'000), start, kKey);
    std::vector<BlockHeader> chain = make_headers(2 * 60 * 60 * 6 + 2 * kMessage);
    BlockHash from = params().genesis_hash;
    for (unsigned messages = 0; messages < 30; ++messages) {
        const auto step = presync.take(behind(chain, from), true);
        if (!step) {
            CHECK(step.error().context == "it sent more headers than a chain can have");
            return;
        }
        from = *step->ask_from;
    }
    FAIL("no end");
}

TEST_SUITE_END();
