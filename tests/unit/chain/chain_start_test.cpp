// SPDX-License-Identifier: MIT
#include "chain/chain_start.hpp"

#include "chain/coins_behind.hpp"
#include "chain/coins_ledger.hpp"
#include "chain/stored_block.hpp"
#include "fake_coins.hpp"
#include "store/coin_store.hpp"
#include "support/coin_options.hpp"
#include "support/desk_calls.hpp"
#include "support/eventually.hpp"
#include "support/regtest_chain.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE_BEGIN("chain.chain_start");

namespace {

constexpr std::uint32_t kDepth = 5;

RegtestChain::Options at_tip_options() {
    RegtestChain::Options options = RegtestChain::default_options();
    options.chain.start_at_tip = true;
    options.chain.start_depth = kDepth;
    return options;
}

/// A node that has begun at the tip of `blocks`, and has what it wants.
void begin_at_tip(RegtestChain& node, const std::vector<BuiltBlock>& blocks) {
    send_headers(node, blocks);
    deliver_missing(node, blocks);
    commit_all(node);
    REQUIRE(node.tip() == blocks.back().hash);
}

std::vector<std::tuple<BlockEventKind, std::uint32_t>> told(RegtestChain& node) {
    std::vector<std::tuple<BlockEventKind, std::uint32_t>> events;
    for (const EventRecord& event : node.log()) events.emplace_back(event.kind, event.height.value);
    return events;
}

std::vector<BlockHash> last_of(const std::vector<BuiltBlock>& blocks, std::size_t count) {
    const auto hashes = hashes_of(blocks);
    return {hashes.end() - static_cast<std::ptrdiff_t>(count), hashes.end()};
}

struct CoinsOfStart {
    CoinsOfStart() {
        store = must(CoinStore::open(coin_options(directory.path())));
        ledger.emplace(chain_params(ChainKind::regtest), *store);
    }
    TemporaryDirectory directory;
    std::unique_ptr<CoinStore> store;
    std::optional<CoinsLedger> ledger;
};

std::vector<std::string> coins_of(const CoinStore& store) {
    std::vector<std::string> coins;
    const auto snapshot = must(store.snapshot());
    must(snapshot.scan([&](const Outpoint& outpoint, const Coin& coin) -> Result<void> {
        coins.push_back(outpoint.txid.display_hex() + " " + std::to_string(coin.amount) + " " +
                        std::to_string(coin.height.value));
        return {};
    }));
    return coins;
}

/// Waits for what the chain thread does between other work.
void wait_until_whole(RegtestChain& node) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (node.chain().status().coins_missing) {
        REQUIRE(std::chrono::steady_clock::now() < end);
        std::this_thread::yield();
    }
}

}  // namespace

TEST_CASE("no block is wanted before the headers have come to their end") {
    RegtestChain node(at_tip_options());
    const auto blocks = build_chain(20);
    send_headers(node, blocks, false);
    CHECK(missing(node, blocks.back().hash).empty());
    CHECK(node.chain().status().tip.height.value == 0);
    CHECK_FALSE(node.chain().status().pruned_to);

    send_headers(node, blocks);
    CHECK(missing(node, blocks.back().hash) == last_of(blocks, kDepth));
    CHECK(node.tip() == blocks[14].hash);
    CHECK(node.chain().status().pruned_to == Height{15});
    CHECK(node.chain().status().coins_missing);
}

TEST_CASE("the chain goes on above the base, and what is below is answered as pruned") {
    RegtestChain node(at_tip_options());
    const auto blocks = build_chain(20);
    send_headers(node, blocks);
    for (const std::size_t i : {19U, 17U, 18U, 16U, 15U})
        CHECK(deliver(node, blocks[i].raw).kind == DeliveredBlock::Kind::accepted);
    commit_all(node);
    CHECK(node.tip() == blocks.back().hash);
    using enum BlockEventKind;
    CHECK(told(node) == std::vector<std::tuple<BlockEventKind, std::uint32_t>>{{connected, 0},
                                                                               {pruned, 15},
                                                                               {connected, 16},
                                                                               {connected, 17},
                                                                               {connected, 18},
                                                                               {connected, 19},
                                                                               {connected, 20}});
    CHECK(node.log()[2].previous_hash == blocks[14].hash);
    const auto snapshot = must(node.store().snapshot());
    for (std::uint32_t height = 1; height <= 20; ++height) {
        CHECK(must(snapshot.active({height})) == blocks[height - 1].hash);
        const auto raw = node.store().block_reader().read_block(blocks[height - 1].hash);
        CHECK(raw.has_value() == (height > 15));
        if (!raw) CHECK(raw.error().context == "Block not available (pruned data)");
    }
    CHECK(node.submit(blocks[3]) == "duplicate");
    CHECK(node.submit(child_of(blocks.back())).empty());
    CHECK(node.header(blocks.back().hash).chain_tx_count == 0);
}

TEST_CASE("a shorter chain than that begins with genesis") {
    RegtestChain node(at_tip_options());
    const auto blocks = build_chain(3);
    begin_at_tip(node, blocks);
    CHECK(told(node).size() == 4);
    CHECK_FALSE(node.chain().status().pruned_to);
    CHECK(node.chain().status().coins_missing);
}

TEST_CASE("a start goes on with what the last one came to") {
    RegtestChain node(at_tip_options());
    auto blocks = build_chain(20);
    send_headers(node, blocks, false);
    node.restart();
    CHECK(missing(node, blocks.back().hash).empty());
    begin_at_tip(node, blocks);
    node.restart();
    CHECK(node.tip() == blocks.back().hash);
    CHECK(node.chain().status().pruned_to == Height{15});
    for (int i = 0; i < 30; ++i) blocks.push_back(child_of(blocks.back()));
    send_headers(node, blocks);
    CHECK(missing(node, blocks.back().hash) == last_of(blocks, 30));
    begin_at_tip(node, blocks);
    CHECK(node.chain().status().pruned_to == Height{15});
}

TEST_CASE("headers that came without the option, or before it was left out, are those of any chain") {
    RegtestChain::Options options = RegtestChain::default_options();
    options.chain.start_depth = kDepth;
    RegtestChain node(options);
    const auto blocks = build_chain(20);
    send_headers(node, blocks);
    CHECK(missing(node, blocks.back().hash).size() == 20);
    node.stop();
    node.options().chain.start_at_tip = true;
    node.start();
    send_headers(node, {blocks.back()}, false);
    CHECK(missing(node, blocks.back().hash).empty());
    node.stop();
    node.options().chain.start_at_tip = false;
    node.start();
    CHECK(missing(node, blocks.back().hash).size() == 20);
    CHECK((node.header(blocks[2].hash).status & HeaderRecord::kPruned) == 0);
    begin_at_tip(node, blocks);
    CHECK_FALSE(node.chain().status().coins_missing);
    CHECK(node.header(blocks.back().hash).chain_tx_count == 21);
}

TEST_CASE("a chain that ends long ago, or without the work, is not taken for the tip") {
    RegtestChain::Options options = at_tip_options();
    const auto blocks = build_chain(20);
    const std::int64_t age = RegtestChain::kNow - std::int64_t{headers_of(blocks).back().time};
    bool begins = false;
    SUBCASE("too old") {
        options.chain.max_tip_age = std::chrono::seconds(age - 1);
    }
    SUBCASE("just young enough") {
        options.chain.max_tip_age = std::chrono::seconds(age);
        begins = true;
    }
    SUBCASE("too little work") {
        options.chain.minimum_chainwork = Uint256(21 * 2 + 1);
    }
    SUBCASE("just enough work") {
        options.chain.minimum_chainwork = Uint256(21 * 2);
        begins = true;
    }
    RegtestChain node(options);
    send_headers(node, blocks);
    CHECK(missing(node, blocks.back().hash).empty() != begins);
    CHECK((node.chain().status().tip.height.value == 15) == begins);
}

TEST_CASE("a store that has blocks from genesis on does not begin at the tip") {
    RegtestChain node;
    node.submit_all(build_chain(3));
    node.stop();
    node.options().chain.start_at_tip = true;
    const auto refused = node.try_start();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Errc::invalid_argument);
    CHECK(refused.error().context.find("has the blocks up to height 3") != std::string::npos);
}

TEST_CASE("branches from above the base are followed, others told of") {
    RegtestChain node(at_tip_options());
    const auto blocks = build_chain(20);
    begin_at_tip(node, blocks);
    const auto near = build_branch(blocks[14], 6, 1);
    send_headers(node, near);
    deliver_missing(node, near);
    commit_all(node);
    CHECK(node.tip() == near.back().hash);

    const auto deep = build_branch(blocks[13], 8, 2);
    send_headers(node, deep);
    commit_all(node);
    CHECK(missing(node, deep.back().hash).empty());
    CHECK(node.chain().status().unreachable.find("leaves the chain below height 15") != std::string::npos);
    CHECK(deliver(node, deep[0].raw).kind == DeliveredBlock::Kind::accepted);
    CHECK(node.tip() == near.back().hash);
    const auto refused = node.chain().invalidate_block(blocks[14].hash);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Errc::unavailable);
    must(node.chain().invalidate_block(blocks[15].hash));
    must(node.chain().invalidate_block(near[0].hash));
    CHECK(node.tip() == blocks[14].hash);
    must(node.chain().reconsider_block(near[0].hash));
    CHECK(node.tip() == near.back().hash);
    // Overtaken: no reason for a warning any more.
    auto higher = near;
    for (int i = 0; i < 3; ++i) higher.push_back(child_of(higher.back(), 1));
    begin_at_tip(node, higher);
    CHECK(node.chain().status().unreachable.empty());
}

TEST_CASE("a store that began at the tip becomes one like any other") {
    CoinsOfStart coins;
    RegtestChain node(at_tip_options());
    auto blocks = build_chain(20);
    begin_at_tip(node, blocks);
    const std::size_t events = node.log().size();
    node.stop();
    node.options().chain.start_at_tip = false;
    node.options().chain.coins = &*coins.ledger;
    node.options().chain.prune.mode = PruneOptions::Mode::manual;
    const auto refused = node.try_start();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().context.find("leave -prune out") != std::string::npos);
    node.stop();
    node.options().chain.prune.mode = PruneOptions::Mode::off;
    node.start();
    auto filling = node.chain().status().filling;
    REQUIRE(filling);
    CHECK(filling->blocks_below == Height{1});
    CHECK(filling->coins == Height{0});
    CHECK(coins.store->snapshot().error().code == Errc::unavailable);
    CHECK(missing(node, blocks.back().hash).size() == 15);
    CHECK(missing(node, blocks.back().hash, 4).size() == 4);
    // From a peer whose chain is behind, what it has.
    CHECK(missing(node, blocks[9].hash).size() == 10);

    for (const std::size_t i : {2U, 14U, 0U, 13U})
        CHECK(deliver(node, blocks[i].raw).kind == DeliveredBlock::Kind::accepted);
    commit_all(node);
    CHECK(node.chain().status().pruned_to == Height{13});
    filling = node.chain().status().filling;
    REQUIRE(filling);
    CHECK(filling->blocks_below == Height{2});
    CHECK(filling->coins <= Height{1});
    // The tip goes on meanwhile.
    blocks.push_back(child_of(blocks.back()));
    send_headers(node, blocks);
    CHECK(missing(node, blocks.back().hash).front() == blocks.back().hash);
    CHECK(deliver(node, blocks.back().raw).kind == DeliveredBlock::Kind::accepted);
    commit_all(node);
    CHECK(node.tip() == blocks.back().hash);
    bool restarts = false;
    SUBCASE("in one go") {}
    SUBCASE("with a restart between") {
        restarts = true;
    }
    if (restarts) node.restart();
    deliver_missing(node, blocks);
    wait_until_whole(node);
    commit_all(node);
    CHECK(node.log().size() == events + 1);
    CHECK_FALSE(node.chain().status().pruned_to);
    CHECK_FALSE(node.chain().status().filling);
    CHECK(must(must(node.store().snapshot()).meta(".tip")).size() != 0);
    CHECK(must(node.store().snapshot()).meta(ChainStart::kMetaKey).error().code == Errc::not_found);

    CoinsOfStart plain_coins;
    RegtestChain::Options options = RegtestChain::default_options();
    options.chain.coins = &*plain_coins.ledger;
    RegtestChain plain(options);
    plain.submit_all(blocks);
    CHECK(coins_of(*coins.store) == coins_of(*plain_coins.store));
    for (const BuiltBlock& block : blocks) {
        const HeaderRecord ours = node.header(block.hash);
        const HeaderRecord theirs = plain.header(block.hash);
        CHECK((ours.status & ~HeaderRecord::kConnected) == (theirs.status & ~HeaderRecord::kConnected));
        CHECK(ours.chain_tx_count == theirs.chain_tx_count);
        CHECK(ours.undo.has_value());
        CHECK(ours.facts.has_value());
    }
    // A reorganization to below where it began is one like any other now.
    const auto deep = build_branch(blocks[9], 12, 3);
    send_headers(node, deep);
    deliver_missing(node, deep);
    commit_all(node);
    plain.submit_all(deep);
    CHECK(node.tip() == deep.back().hash);
    CHECK(coins_of(*coins.store) == coins_of(*plain_coins.store));
    node.restart();
    CHECK(coins_of(*coins.store) == coins_of(*plain_coins.store));
}

TEST_CASE("the making of coins ends at an invalid block of a chain of valid headers") {
    CoinsOfStart coins;
    RegtestChain node(at_tip_options());
    auto blocks = build_chain(9);
    BlockSpec greedy = child_spec(blocks.back());
    greedy.coinbase_amount = 51 * kCoin;
    blocks.push_back(build_block(greedy));
    for (int i = 0; i < 10; ++i) blocks.push_back(child_of(blocks.back()));
    begin_at_tip(node, blocks);
    node.stop();
    node.options().chain.start_at_tip = false;
    node.options().chain.coins = &*coins.ledger;
    node.start();
    for (const BlockHash& hash : missing(node, blocks.back().hash)) {
        const auto block = std::ranges::find(blocks, hash, &BuiltBlock::hash);
        REQUIRE(block != blocks.end());
        // The chain may have ended before the last of them.
        static_cast<void>(
            node.chain().deliver_block(must(ParsedBlock::parse(block->raw)), [](const DeliveredBlock&) {}));
    }
    REQUIRE(eventually([&] { return !node.chain().status().halted.empty(); }));
    const std::string halted = node.chain().status().halted;
    CHECK(halted.starts_with("The store that began at the tip cannot be made whole: "));
    CHECK(halted.find(blocks[9].hash.display_hex()) != std::string::npos);
    CHECK(halted.find("bad-cb-amount") != std::string::npos);
    CHECK(halted.find("give an empty -datadir=<dir> and a node that you trust") != std::string::npos);
    // What it can tell it still tells.
    CHECK(node.tip() == blocks.back().hash);
    CHECK(coins.store->snapshot().error().code == Errc::unavailable);
}

TEST_CASE("blocks of a file fill a store that began at the tip, too") {
    CoinsOfStart coins;
    RegtestChain node(at_tip_options());
    const auto blocks = build_chain(20);
    begin_at_tip(node, blocks);
    node.stop();
    node.options().chain.start_at_tip = false;
    node.options().chain.coins = &*coins.ledger;
    node.start();
    node.chain().begin_import();
    for (const BuiltBlock& block : blocks)
        must(node.chain().import_block(must(ParsedBlock::parse(block.raw))));
    must(node.chain().end_import());
    wait_until_whole(node);
    CHECK(coins_of(*coins.store).size() == 20);
}

TEST_CASE("coins that are behind follow a chain that is taken back") {
    RegtestChain node;
    const auto blocks = build_chain(6);
    node.submit_all(blocks);
    node.stop();
    Store& store = *must(Store::open(node.store_options())).release();
    const std::unique_ptr<Store> owner(&store);
    const auto state = must(ChainState::load(store));
    FakeCoins inner;
    CoinsBehind coins(inner);
    coins.fall_behind(nullptr);
    for (int i = 0; i < 5; ++i) must(coins.connect_next(*state, *coins.next(state->active()), store));
    CHECK(inner.chain().size() == 5);
    CHECK(coins.behind());
    // The tip's coins were never made, those of the block below were.
    for (int i = 0; i < 3; ++i) {
        StoredBlock tip(*state->active().tip(), store, nullptr);
        must(coins.disconnect(tip));
        state->disconnect_tip();
    }
    CHECK(inner.chain().size() == 4);
    CHECK(coins.next(state->active()) == nullptr);
    HeaderNode& again = *state->tree().find(blocks[3].hash);
    StoredBlock block(again, store, nullptr);
    CHECK(must(coins.connect(block)).reject_reason.empty());
    state->connect(again);
    CHECK(coins.next(state->active()) == &again);
    must(coins.connect_next(*state, again, store));
    CHECK_FALSE(coins.behind());
    CHECK(inner.chain().size() == 5);
}

TEST_SUITE_END();
