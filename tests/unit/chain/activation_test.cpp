// SPDX-License-Identifier: MIT
#include "chain/activation.hpp"

#include "event_script.hpp"
#include "fake_coins.hpp"
#include "support/regtest_chain.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE_BEGIN("chain.activation");

TEST_CASE("a fresh store begins with genesis as event 0, and a second start adds nothing") {
    RegtestChain node;
    EventScript script;
    CHECK(script.tell(node.released()) == "Cg Tg<00000000");
    REQUIRE(node.log().size() == 1);
    CHECK(node.log().front().index == 0);
    CHECK(node.log().front().previous_hash.is_null());
    CHECK(node.tip() == regtest_genesis().hash);
    node.restart();
    CHECK(node.released().empty());
    CHECK(node.log().size() == 1);
}

TEST_CASE("each block at the tip is a step of its own") {
    RegtestChain node;
    EventScript script;
    static_cast<void>(node.released());
    const auto a = build_branch(regtest_genesis(), 2);
    script.name_branch(a, "a");
    CHECK(node.submit(a[0]).empty());
    CHECK(script.tell(node.released()) == "Ca1 Ta1<g");
    CHECK(node.submit(a[1]).empty());
    CHECK(script.tell(node.released()) == "Ca2 Ta2<a1");
    CHECK(node.chain().status().tip.hash == a[1].hash);
    CHECK(node.chain().status().durable_events == 3);
}

TEST_CASE("a branch of three replaces one of two in one step") {
    RegtestChain node;
    EventScript script;
    const auto a = build_branch(regtest_genesis(), 2, 1);
    const auto b = build_branch(regtest_genesis(), 3, 2);
    script.name_branch(a, "a");
    script.name_branch(b, "b");
    node.submit_all(a);
    static_cast<void>(node.released());
    CHECK(node.submit(b[0]) == "inconclusive");
    CHECK(node.submit(b[1]) == "inconclusive");
    CHECK(node.released().empty());
    CHECK(node.submit(b[2]).empty());
    CHECK(script.tell(node.released()) == "Da2 Da1 Cb1 Cb2 Cb3 Tb3<g");
    CHECK(node.tip() == b[2].hash);
}

TEST_CASE(
    "invalidateblock tells each block and one tip at its end, reconsiderblock announces beyond the old "
    "work") {
    RegtestChain node;
    EventScript script;
    const auto a = build_branch(regtest_genesis(), 4, 1);
    const auto b = build_branch(a[0], 1, 2);
    script.name_branch(a, "a");
    script.name_branch(b, "b");
    node.submit_all(a);
    static_cast<void>(node.released());
    must(node.chain().invalidate_block(a[1].hash));
    CHECK(script.tell(node.released()) == "Da4 Da3 Da2 Ta1<a1");
    CHECK(node.tip() == a[0].hash);
    CHECK(node.submit(b[0]).empty());
    CHECK(script.tell(node.released()) == "Cb1 Tb1<a1");
    must(node.chain().reconsider_block(a[1].hash));
    // Until there is more work than before in the first step, then block by block.
    CHECK(script.tell(node.released()) == "Db1 Ca2 Ca3 Ta3<a1 Ca4 Ta4<a3");
}

TEST_CASE("invalidateblock falls back to the best other branch at once") {
    RegtestChain node;
    EventScript script;
    const auto a = build_branch(regtest_genesis(), 3, 1);
    const auto b = build_branch(a[0], 1, 2);
    script.name_branch(a, "a");
    script.name_branch(b, "b");
    node.submit_all(a);
    node.submit_all(b);
    static_cast<void>(node.released());
    must(node.chain().invalidate_block(a[1].hash));
    CHECK(script.tell(node.released()) == "Da3 Da2 Ta1<a1 Cb1 Tb1<a1");
}

TEST_CASE("marks of failure lie on the block, its descendants, and go with reconsiderblock") {
    RegtestChain node;
    const auto a = build_branch(regtest_genesis(), 4, 1);
    const auto side = build_branch(a[1], 1, 2);
    node.submit_all(a);
    node.submit_all(side);
    must(node.chain().invalidate_block(a[1].hash));
    constexpr std::uint32_t kMarks = HeaderRecord::kFailed | HeaderRecord::kFailedChild;
    const auto marks = [&](const BuiltBlock& block) { return node.header(block.hash).status & kMarks; };
    const auto check_marked = [&] {
        CHECK(marks(a[0]) == 0);
        CHECK(marks(a[1]) == HeaderRecord::kFailed);
        CHECK(marks(a[2]) == HeaderRecord::kFailedChild);
        CHECK(marks(a[3]) == HeaderRecord::kFailedChild);
        CHECK(marks(side[0]) == HeaderRecord::kFailedChild);
    };
    check_marked();
    CHECK(node.chain().status().best_header.hash == a[0].hash);
    node.restart();
    check_marked();
    CHECK(node.tip() == a[0].hash);
    CHECK(node.submit(a[1]) == "duplicate-invalid");
    CHECK(node.submit(child_of(a[3])) == "bad-prevblk");
    // From a descendant: ancestors are cleared as well.
    must(node.chain().reconsider_block(a[3].hash));
    CHECK(marks(a[1]) == 0);
    CHECK(marks(a[3]) == 0);
    CHECK(marks(side[0]) == HeaderRecord::kFailedChild);
    CHECK(node.tip() == a[3].hash);
    CHECK(node.chain().status().best_header.hash == a[3].hash);
}

TEST_CASE("genesis cannot be invalidated, and unknown blocks are not found") {
    RegtestChain node;
    must(node.chain().invalidate_block(regtest_genesis().hash));
    CHECK(node.tip() == regtest_genesis().hash);
    const BlockHash unknown = child_of(regtest_genesis(), 99).hash;
    for (const auto& answer : {node.chain().invalidate_block(unknown), node.chain().reconsider_block(unknown),
                               node.chain().precious_block(unknown)}) {
        REQUIRE_FALSE(answer);
        CHECK(answer.error().code == Errc::not_found);
        CHECK(answer.error().context == "Block not found");
    }
}

TEST_CASE("twenty blocks are taken back and put on again") {
    RegtestChain node;
    const auto a = build_branch(regtest_genesis(), 25, 1);
    node.submit_all(a);
    static_cast<void>(node.released());
    must(node.chain().invalidate_block(a[5].hash));
    std::size_t disconnected = 0;
    for (const Event& event : node.released())
        disconnected += std::holds_alternative<BlockDisconnected>(event);
    CHECK(disconnected == 20);
    CHECK(node.tip() == a[4].hash);
    must(node.chain().reconsider_block(a[5].hash));
    CHECK(node.tip() == a[24].hash);
}

TEST_CASE("preciousblock wins ties, back and forth, and survives a restart") {
    RegtestChain node;
    EventScript script;
    const auto a = build_branch(regtest_genesis(), 2, 1);
    const auto b = build_branch(regtest_genesis(), 2, 2);
    script.name_branch(a, "a");
    script.name_branch(b, "b");
    node.submit_all(a);
    node.submit_all(b);
    CHECK(node.tip() == a[1].hash);
    static_cast<void>(node.released());
    must(node.chain().precious_block(b[1].hash));
    CHECK(script.tell(node.released()) == "Da2 Da1 Cb1 Cb2 Tb2<g");
    must(node.chain().precious_block(a[1].hash));
    CHECK(script.tell(node.released()) == "Db2 Db1 Ca1 Ca2 Ta2<g");
    must(node.chain().precious_block(b[1].hash));
    CHECK(node.tip() == b[1].hash);
    node.restart();
    CHECK(node.tip() == b[1].hash);
    // Less work than the tip's: nothing to do.
    static_cast<void>(node.released());
    must(node.chain().precious_block(a[0].hash));
    CHECK(node.released().empty());
}

TEST_CASE("first seen wins a tie, also after a restart") {
    RegtestChain node;
    const auto a = build_branch(regtest_genesis(), 2, 1);
    const auto b = build_branch(regtest_genesis(), 2, 2);
    const auto c = build_branch(regtest_genesis(), 1, 3);
    node.submit_all(c);
    node.submit_all(b);
    node.submit_all(a);
    CHECK(node.tip() == b[1].hash);
    node.restart();
    CHECK(node.tip() == b[1].hash);
    // Both longer branches gone, and c is the first of those with one block.
    must(node.chain().invalidate_block(b[0].hash));
    CHECK(node.tip() == a[1].hash);
    must(node.chain().invalidate_block(a[0].hash));
    CHECK(node.tip() == c[0].hash);
}

TEST_CASE("a branch that proves invalid half-way is left again without a tip update") {
    FakeCoins coins;
    auto options = RegtestChain::default_options();
    options.chain.coins = &coins;
    RegtestChain node(options);
    EventScript script;
    const auto a = build_branch(regtest_genesis(), 2, 1);
    const auto b = build_branch(regtest_genesis(), 4, 2);
    script.name_branch(a, "a");
    script.name_branch(b, "b");
    coins.refuse(b[1].hash, "bad-cb-amount");
    node.submit_all(a);
    static_cast<void>(node.released());
    CHECK(node.submit(b[0]) == "inconclusive");
    CHECK(node.submit(b[1]) == "inconclusive");
    // The verdict is about b2, not about the block that was submitted.
    CHECK(node.submit(b[2]) == "inconclusive");
    CHECK(script.tell(node.released()) == "Da2 Da1 Cb1 Db1 Ca1 Ca2");
    CHECK(node.tip() == a[1].hash);
    CHECK((node.header(b[1].hash).status & HeaderRecord::kFailed) != 0);
    CHECK((node.header(b[2].hash).status & HeaderRecord::kFailedChild) != 0);
    CHECK(node.submit(b[3]) == "bad-prevblk");
    CHECK(node.submit(b[1]) == "duplicate-invalid");
    CHECK(coins.chain() == std::vector{regtest_genesis().hash, a[0].hash, a[1].hash});
    // The log alone tells the same: no record of that step is followed by a tip update.
    const auto log = node.log();
    for (std::size_t i = 3; i < log.size(); ++i) CHECK_FALSE(log[i].step_end);
}

TEST_CASE("the good blocks of an invalid branch stay when they have more work than before") {
    FakeCoins coins;
    auto options = RegtestChain::default_options();
    options.chain.coins = &coins;
    RegtestChain node(options);
    EventScript script;
    const auto a = build_branch(regtest_genesis(), 1, 1);
    const auto b = build_branch(regtest_genesis(), 4, 2);
    script.name_branch(a, "a");
    script.name_branch(b, "b");
    coins.refuse(b[3].hash, "bad-txns-inputs-missingorspent");
    node.submit_all(a);
    static_cast<void>(node.released());
    CHECK(node.submit(b[0]) == "inconclusive");
    CHECK(node.submit(b[1]).empty());
    CHECK(script.tell(node.released()) == "Da1 Cb1 Cb2 Tb2<g");
    CHECK(node.submit(b[2]).empty());
    CHECK(script.tell(node.released()) == "Cb3 Tb3<b2");
    CHECK(node.submit(b[3]) == "bad-txns-inputs-missingorspent");
    CHECK(node.released().empty());
    CHECK(node.submit(b[3]) == "duplicate-invalid");
    CHECK(node.submit(child_of(b[3])) == "bad-prevblk");
}

TEST_CASE("what returns to the mempool is announced between disconnects and connects") {
    FakeCoins coins;
    auto options = RegtestChain::default_options();
    FakeMempool mempool;
    options.chain.coins = &coins;
    options.chain.mempool = &mempool;
    RegtestChain node(options);
    EventScript script;
    const auto a = build_branch(regtest_genesis(), 12, 1);
    const auto b = build_branch(regtest_genesis(), 13, 2);
    script.name_branch(a, "a");
    script.name_branch(b, "b");
    node.submit_all({a[0]});
    node.submit_all({b[0]});
    static_cast<void>(node.released());
    mempool.return_transactions(true);
    CHECK(node.submit(b[1]).empty());
    CHECK(script.tell(node.released()) == "Da1 + Cb1 Cb2 Tb2<g");
    node.submit_all({b.begin() + 2, b.end()});
    static_cast<void>(node.released());
    mempool.forget_calls();
    must(node.chain().invalidate_block(b[1].hash));
    // Twelve blocks go; only the first ten are worth keeping the mempool for. Then a1, which came before b1,
    // is back.
    const std::vector<bool> returning = mempool.end_calls();
    REQUIRE(returning.size() == 13);
    for (std::size_t i = 0; i < 12; ++i) CHECK(returning[i] == (i < 10));
    CHECK(returning[12]);
}

TEST_CASE("undo data and facts that connecting gives lie beside the block") {
    FakeCoins coins;
    auto options = RegtestChain::default_options();
    options.chain.coins = &coins;
    RegtestChain node(options);
    coins.give_undo(SharedBytes::copy_of(Bytes{1, 2, 3}));
    const auto a = build_branch(regtest_genesis(), 1, 1);
    node.submit_all(a);
    const HeaderRecord record = node.header(a[0].hash);
    REQUIRE(record.undo);
    const SharedBytes undo = must(node.store().read_blob(*record.undo));
    CHECK(std::ranges::equal(undo.bytes(), Bytes{1, 2, 3}));
    CHECK_FALSE(record.facts);
    must(node.chain().invalidate_block(a[0].hash));
    CHECK(coins.undo_seen() == Bytes{1, 2, 3});
}
