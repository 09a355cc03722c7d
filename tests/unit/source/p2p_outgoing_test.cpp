// SPDX-License-Identifier: MIT
#include "source/p2p_outgoing.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <vector>

using namespace blockpub;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("source.p2p_outgoing");

namespace {

/// One input, one output of `tag` satoshi, 60 bytes.
TransactionRef outgoing_number(std::uint8_t tag) {
    std::vector<std::uint8_t> raw{2, 0, 0, 0, 1};
    raw.insert(raw.end(), 32 + 4, tag);
    raw.push_back(0);
    raw.insert(raw.end(), 4, 0xff);
    raw.push_back(1);
    raw.push_back(tag);
    raw.insert(raw.end(), 7, 0);
    raw.push_back(0);
    raw.insert(raw.end(), 4, 0);
    auto transaction = MempoolTransaction::decode(SharedBytes::copy_of(raw));
    REQUIRE(transaction.has_value());
    return *transaction;
}

struct Row {
    int woken = 0;
    OutgoingTransactions row;
    explicit Row(const OutgoingTransactions::Limits& limits = {}) : row(limits, [this] { ++woken; }) {
        row.set_any_taker(true);
    }
};

}  // namespace

TEST_CASE("what is handed out is told to each node once, in its order, and to one that comes again") {
    Row out;
    const std::vector<TransactionRef> sent{outgoing_number(9), outgoing_number(1), outgoing_number(5)};
    for (const TransactionRef& transaction : sent) REQUIRE(out.row.hand_out(transaction).has_value());
    CHECK(out.woken == 3);
    REQUIRE(out.row.hand_out(sent[0]).has_value());  // again
    CHECK(out.row.tell(1) == sent);
    CHECK(out.row.tell(1).empty());
    CHECK(out.row.tell(2) == sent);
    out.row.settle(sent[1]->txid());
    CHECK_FALSE(out.row.is_on_its_way(sent[1]->txid()));
    out.row.forget(1);
    CHECK(out.row.tell(1) == std::vector{sent[0], sent[2]});
    CHECK(out.row.all().size() == 2);
    using Hash = OutgoingTransactions::Hash;
    CHECK(out.row.find(Hash(sent[0]->wtxid().wire_bytes())) == sent[0]);
    CHECK(out.row.find(Hash(sent[1]->txid().wire_bytes())) == nullptr);
}

TEST_CASE("nothing is taken without a node that takes it, and no more than has room") {
    SUBCASE("no node") {
        Row out;
        out.row.set_any_taker(false);
        const auto given = out.row.hand_out(outgoing_number(1));
        REQUIRE_FALSE(given.has_value());
        CHECK(given.error().context == "no node that takes transactions is connected");
        CHECK(out.woken == 0);
    }
    SUBCASE("too many, or too large together") {
        OutgoingTransactions::Limits limits;
        SUBCASE("too many") {
            limits.count = 2;
        }
        SUBCASE("too large") {
            limits.bytes = 3 * outgoing_number(1)->raw().size() - 1;
        }
        Row out(limits);
        REQUIRE(out.row.hand_out(outgoing_number(1)).has_value());
        REQUIRE(out.row.hand_out(outgoing_number(2)).has_value());
        CHECK_FALSE(out.row.hand_out(outgoing_number(3)).has_value());
        out.row.settle(outgoing_number(1)->txid());
        CHECK(out.row.hand_out(outgoing_number(3)).has_value());
    }
}

TEST_CASE("a node that has fetched it is asked for it with growing pauses, until a day is over") {
    Row out;
    const TransactionRef sent = outgoing_number(1);
    REQUIRE(out.row.hand_out(sent).has_value());
    const auto begin = std::chrono::steady_clock::now();
    CHECK(out.row.questions(1, begin + 1h).empty());  // it has not been given it
    out.row.fetched(sent->txid(), 1, begin);
    CHECK(out.row.questions(1, begin + 999ms).empty());
    std::vector<std::chrono::milliseconds> asked;
    for (auto at = 0ms; at < 300s; at += 1000ms) {
        if (!out.row.questions(1, begin + at).empty()) asked.push_back(at);
    }
    CHECK(asked == std::vector<std::chrono::milliseconds>{1s, 3s, 7s, 15s, 31s, 63s, 123s, 183s, 243s});
    CHECK(out.row.questions(2, begin + 300s).empty());
    out.row.expire(begin + 23h);
    CHECK(out.row.is_on_its_way(sent->txid()));
    out.row.expire(begin + 24h);
    CHECK_FALSE(out.row.is_on_its_way(sent->txid()));
    CHECK(out.row.questions(1, begin + 25h).empty());
}

TEST_SUITE_END();
