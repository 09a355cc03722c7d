// SPDX-License-Identifier: MIT
#include "source/p2p_header_sync.hpp"

#include "support/header_builder.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("source.p2p_header_sync");

namespace {

using Kind = HeaderAnswer::Kind;
using SyncTime = HeaderSync::Time;

constexpr auto kTimeout = 60s;

HeaderDesk::Point point(const BlockHeader& header, std::uint32_t height) {
    return {.hash = header.hash(),
            .height = {height},
            .chainwork = Uint256(std::uint64_t{2} * (height + 1)),
            .bits = header.bits,
            .failed = false};
}

/// One peer's headers; the test answers for the chain thread, and says what time it is.
class Talk final : public HeaderSyncHost {
 public:
    Talk() : sync(chain_params(ChainKind::regtest), kTimeout, *this) {
        sync.begin(now);
        answer({.kind = Kind::locator});
    }
    void send_get_headers(const GetHeaders&) override { ++questions; }
    void ask_chain(Question) override { ++asked; }
    void peer_chain_changed(const HeaderAnswer& answer) override { shown = answer.last; }
    std::int64_t now_seconds() const override { return 1'700'000'000; }

    void take(std::vector<BlockHeader> headers) { keep(sync.take(std::move(headers), now)); }
    void take_unchecked(const BlockHeader& header) { keep(sync.take_unchecked(header, now)); }
    void answer(HeaderAnswer answer) {
        REQUIRE(sync.asking_chain());
        keep(sync.answer(std::move(answer), now));
    }
    void taken(const BlockHeader& last, std::uint32_t height) {
        answer({.kind = Kind::taken, .last = point(last, height)});
    }
    void pass(std::chrono::seconds time) {
        now += time;
        keep(sync.tick(now));
    }

    SyncTime now{1000s};
    int questions = 0;  ///< getheaders that were sent
    int asked = 0;      ///< of the chain thread
    std::optional<HeaderDesk::Point> shown;
    std::string ended;  ///< why the peer is left
    HeaderSync sync;

 private:
    void keep(const Result<void>& result) {
        if (!result && ended.empty()) ended = result.error().context;
    }
};

}  // namespace

TEST_CASE("full messages are followed by the next question, a short one ends the row") {
    const auto headers = make_headers(kMaxHeaders + 5);
    Talk talk;
    CHECK(talk.questions == 1);
    talk.take({headers.begin(), headers.begin() + kMaxHeaders});
    CHECK_FALSE(talk.sync.waiting_for_peer());
    talk.taken(headers[kMaxHeaders - 1], kMaxHeaders);
    CHECK(talk.questions == 2);
    talk.take({headers.begin() + kMaxHeaders, headers.end()});
    talk.taken(headers.back(), kMaxHeaders + 5);
    CHECK(talk.questions == 2);
    CHECK(talk.shown->hash == headers.back().hash());
    CHECK_FALSE(talk.sync.waiting_for_peer());
    talk.pass(119s);
    CHECK_FALSE(talk.sync.asking_chain());
    talk.pass(1s);  // asks again, whatever was announced
    CHECK(talk.sync.asking_chain());
    CHECK(talk.ended.empty());
}

TEST_CASE("who does not answer getheaders is left after two time-outs") {
    Talk talk;
    talk.pass(2 * kTimeout - 1s);
    CHECK(talk.ended.empty());
    talk.pass(1s);
    CHECK(talk.ended == "no answer to getheaders within 120 s");
}

TEST_CASE("blocks that are passed on answer no question for headers") {
    const auto headers = make_headers(2 * kMaxHeaders);
    const auto news = make_headers(1, 7);
    // Whatever becomes of the block.
    for (const Kind kind : {Kind::taken, Kind::stranded, Kind::low_work}) {
        CAPTURE(kind);
        Talk talk;
        talk.take({headers.begin(), headers.begin() + kMaxHeaders});
        talk.taken(headers[kMaxHeaders - 1], kMaxHeaders);
        REQUIRE(talk.questions == 2);
        talk.take_unchecked(news[0]);
        CHECK(talk.sync.waiting_for_peer());
        HeaderAnswer about{.kind = kind, .start = point(headers[0], 1), .least_work = Uint256(1000)};
        if (kind == Kind::taken) about.last = point(news[0], 1);
        talk.answer(about);
        CHECK(talk.sync.best_unchecked() == (kind == Kind::taken));
        CHECK_FALSE(talk.sync.presync_height());
        CHECK(talk.questions == 2);
        REQUIRE(talk.sync.waiting_for_peer());
        SUBCASE("the answer comes, and is followed by the next question") {
            talk.take({headers.begin() + kMaxHeaders, headers.end()});
            talk.taken(headers.back(), 2 * kMaxHeaders);
            CHECK(talk.questions == 3);
            CHECK(talk.ended.empty());
        }
        SUBCASE("the answer is that there are no more: the chain thread is told of the end") {
            const int asked = talk.asked;
            talk.take({});
            CHECK(talk.asked == asked + 1);
            CHECK(talk.ended.empty());
        }
        SUBCASE("the answer does not come") {
            talk.pass(2 * kTimeout);
            CHECK_FALSE(talk.ended.empty());
        }
    }
}

TEST_CASE("headers that do not connect are forgiven a few times, and for those that do") {
    const auto headers = make_headers(1);
    const auto strays = make_headers(2, 9);
    Talk talk;
    const auto stray = [&] {
        talk.take({strays[1]});
        if (talk.sync.asking_chain()) talk.answer({.kind = Kind::stranded});
    };
    for (int i = 0; i < 10; ++i) stray();
    CHECK(talk.ended.empty());
    talk.take(headers);
    talk.taken(headers[0], 1);
    for (int i = 0; i < 10; ++i) stray();
    CHECK(talk.ended.empty());
    stray();
    CHECK(talk.ended == "it sent headers that do not connect, again and again");
}

TEST_CASE("headers that do not connect are forgiven during the first look at a chain too") {
    const auto headers = make_headers(4 * kMaxHeaders);
    const auto strays = make_headers(2, 9);
    const auto message = [&](std::size_t i) {
        const auto begin = headers.begin() + static_cast<std::ptrdiff_t>(i * kMaxHeaders);
        return std::vector<BlockHeader>(begin, begin + kMaxHeaders);
    };
    Talk talk;
    talk.take(message(0));
    HeaderDesk::Point genesis = point(headers[0], 0);
    genesis.hash = headers[0].previous;
    talk.answer({.kind = Kind::low_work, .start = genesis, .least_work = Uint256(1'000'000)});
    REQUIRE(talk.sync.presync_height());
    for (std::size_t i = 1; i < 4; ++i) {
        for (int j = 0; j < 9; ++j) talk.take({strays[1]});
        CHECK(talk.sync.waiting_for_peer());
        talk.take(message(i));
        CHECK(talk.sync.presync_height()->value == (i + 1) * kMaxHeaders);
    }
    CHECK(talk.ended.empty());
    // Nor does a block that is passed on end the look, wherever it belongs.
    talk.take_unchecked(make_headers(1, 0, &headers.back())[0]);
    CHECK(talk.ended.empty());
    CHECK(talk.sync.presync_height()->value == headers.size());
    for (int j = 0; j < 10; ++j) talk.take({strays[1]});
    CHECK(talk.ended == "it sent headers that do not connect, again and again");
}

TEST_CASE("announcements without headers are passed over a thousand times") {
    const auto headers = make_headers(1);
    Talk talk;
    for (int i = 0; i < 1000; ++i) {
        REQUIRE(talk.sync.announced(headers[0].hash()).has_value());
        if (talk.sync.asking_chain()) talk.answer({.kind = Kind::unknown});
    }
    CHECK(talk.questions == 1);  // one that is under way is enough
    CHECK_FALSE(talk.sync.announced(headers[0].hash()).has_value());
}

TEST_SUITE_END();
