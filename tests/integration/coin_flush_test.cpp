// SPDX-License-Identifier: MIT
#include "node_parts.hpp"
#include "support/seed.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace blockpub::test {
namespace {

using Point = StoreFaults::Point;
using SteadyClock = std::chrono::steady_clock;

constexpr std::uint64_t kBudget = std::uint64_t{8} << 20;
constexpr std::size_t kManyCoins = 4000;
constexpr std::size_t kBlocks = 30;

Outpoint coinbase_of(const BuiltBlock& block) {
    return {.txid = block.coinbase.txid(), .position = 0};
}

/// Connects blocks with many coins until a flush is under way or has been tried.
void fill_until(NodeParts& node, TestSubscriber& subscriber, const auto& reached) {
    while (!reached()) {
        const BuiltBlock block = node.next_block_with(kManyCoins);
        node.connect(block);
        node.expect_block(subscriber, block);
        REQUIRE(node.tip.height.value < 140);
    }
}

/// Blocks with many coins on the tip, not submitted.
std::vector<BuiltBlock> chain_of(NodeParts& node, std::size_t count) {
    const BuiltBlock tip = node.tip;
    std::vector<BuiltBlock> blocks;
    while (blocks.size() < count) {
        blocks.push_back(node.next_block_with(kManyCoins));
        node.tip = blocks.back();
    }
    node.tip = tip;
    return blocks;
}

void check_coins_of(NodeParts& node, const BuiltBlock& block) {
    const auto snapshot = node.coins->snapshot();
    REQUIRE(snapshot.has_value());
    CHECK(snapshot->tip().hash == block.hash);
    const auto coin = snapshot->find(coinbase_of(block));
    REQUIRE_MESSAGE(coin.has_value(), coin.error().context);
    CHECK(coin->height == block.height);
}

/// Blocks in the order in which they come, and the active chain after each step that they make.
struct Plan {
    std::vector<BuiltBlock> blocks;
    std::vector<std::vector<BlockHash>> chains;  ///< by step; each from genesis to its tip
    std::map<BlockHash, std::size_t> step_of_tip;

    [[nodiscard]] bool is_active(const BuiltBlock& block, std::size_t step) const {
        const auto& chain = chains[step];
        return block.height.value < chain.size() && chain[block.height.value] == block.hash;
    }
};

/// Extends the tip, or replaces up to three blocks by one more.
Plan make_plan(NodeParts& node, std::mt19937& random, std::size_t steps) {
    Plan plan;
    std::vector<BuiltBlock> active{node.tip};
    const auto end_step = [&] {
        plan.step_of_tip.emplace(active.back().hash, plan.chains.size());
        auto& chain = plan.chains.emplace_back();
        for (const BuiltBlock& block : active) chain.push_back(block.hash);
    };
    end_step();
    while (plan.chains.size() < steps) {
        const std::size_t replaced = active.size() > 4 && random() % 3 == 0 ? random() % 3 + 1 : 0;
        active.resize(active.size() - replaced, node.tip);
        for (std::size_t i = 0; i <= replaced; ++i) {
            node.tip = active.back();
            active.push_back(node.next_block_with(replaced == 0 ? kManyCoins : kManyCoins / 4));
            plan.blocks.push_back(active.back());
        }
        end_step();
    }
    return plan;
}

/// Reads the chain, the coins and the chain again, and holds them against the plan.
void check_one_state(const NodeParts& node, const Plan& plan, std::mt19937& random) {
    const auto before = node.store->snapshot();
    const auto coins = node.coins->snapshot();
    const auto after = node.store->snapshot();
    if (!before || !coins || !after) {
        FAIL_CHECK("a snapshot cannot be taken");
        return;
    }
    const auto step_of = [&](const Snapshot& snapshot) {
        return plan.step_of_tip.at(snapshot.tip().value().hash);
    };
    const std::size_t step = plan.step_of_tip.at(coins->tip().hash);
    const std::size_t newest = step_of(*after);
    CHECK(step + 1 >= step_of(*before));  // a step shows itself in the chain first
    CHECK(step <= newest);
    const std::size_t height = coins->tip().height.value;
    const auto active = after->active(coins->tip().height);
    CHECK(active.has_value() == (height < plan.chains[newest].size()));
    if (active && height < plan.chains[newest].size()) CHECK(*active == plan.chains[newest][height]);
    for (int i = 0; i < 4; ++i) {
        const BuiltBlock& block = plan.blocks[random() % plan.blocks.size()];
        CHECK(coins->find(coinbase_of(block)).has_value() == plan.is_active(block, step));
    }
}

TEST_SUITE("integration.coin_flush") {
    TEST_CASE(
        "coins and chain tables that are read together are of one branch, whatever becomes of flushes") {
        const unsigned seed = seed_of_run();
        MESSAGE("seed " << seed);
        std::mt19937 random(seed);
        const TemporaryDirectory directory;
        NodeParts node(directory.path(), kBudget);
        const Plan plan = make_plan(node, random, 50);
        std::atomic<bool> over{false};
        std::atomic<unsigned> checked{0};
        std::vector<std::jthread> readers;
        for (unsigned n = 0; n < 3; ++n) {
            readers.emplace_back([&, n] {
                std::mt19937 own(seed + n + 1);
                while (!over.load() || checked.load() < 3) {
                    // A full disk comes and goes, also while the chain waits for room.
                    if (n == 0 && own() % 64 == 0) {
                        node.flush_faults.fail_at(own() % 2 == 0 ? Point::coin_put : Point::coin_commit,
                                                  own() % 3 == 0 ? ENOSPC : 0);
                    }
                    check_one_state(node, plan, own);
                    ++checked;
                }
            });
        }
        for (const BuiltBlock& block : plan.blocks) CHECK(node.chain->submit_block(block.raw).has_value());
        over = true;
        readers.clear();
        node.flush_faults.fail_at(Point::coin_put, 0);
        CHECK(node.chain->status().tip.hash == plan.chains.back().back());
        CHECK(eventually([&] { return node.coins->status().flushes > 0; }));
        check_one_state(node, plan, random);
    }

    TEST_CASE("a flush of coins that takes seconds changes nothing for readers, the chain and subscribers") {
        const TemporaryDirectory directory;
        NodeParts node(directory.path(), kBudget);
        TestSubscriber subscriber(node.publisher->status().endpoint);
        node.synchronize(subscriber);
        node.flush_faults.hold();
        fill_until(node, subscriber, [&] { return node.coins->status().flushing; });
        REQUIRE(eventually([&] { return node.flush_faults.holding(); }));
        const BuiltBlock flushed = node.tip;

        const auto began = SteadyClock::now();
        while (SteadyClock::now() - began < std::chrono::seconds(2) || node.tip.height.value < 30) {
            if (node.tip.height.value < 140) {
                const BuiltBlock block = node.next_block();
                node.connect(block);
                node.expect_block(subscriber, block);
            }
            check_coins_of(node, node.tip);
            const auto snapshot = node.coins->snapshot();
            REQUIRE(snapshot.has_value());
            CHECK(snapshot->find(coinbase_of(flushed)).has_value());
        }
        CHECK(node.flush_faults.holding());
        CHECK(node.coins->status().flushes == 0);
        CHECK(node.chain->status().durable_events == node.tip.height.value + 1);

        node.flush_faults.release();
        CHECK(eventually([&] { return node.coins->status().flushes == 1; }));
        CHECK(node.coins->status().flushed.hash == flushed.hash);
        check_coins_of(node, node.tip);
        CHECK(node.logger.complaints().empty());
    }

    TEST_CASE(
        "coins that cannot be written hold the chain up when memory is full, and it goes on by itself") {
        const TemporaryDirectory directory;
        NodeParts node(directory.path(), kBudget);
        TestSubscriber subscriber(node.publisher->status().endpoint);
        node.synchronize(subscriber);
        node.flush_faults.fail_at(Point::coin_put, ENOSPC);
        const BuiltBlock tip = node.tip;
        const std::vector<BuiltBlock> blocks = chain_of(node, kBlocks);
        std::thread submitter([&] {
            for (const BuiltBlock& block : blocks) node.connect(block);
        });
        REQUIRE(eventually([&] { return !node.chain->status().write_error.empty(); }));
        const CoinStoreStatus full = node.coins->status();
        CHECK(full.failing);
        CHECK(full.bytes < kBudget + kBudget / 4);
        CHECK_FALSE(node.chain->status().write_stopped);
        // Announced is what was durable before; readers see the same.
        const std::uint32_t height = node.chain->status().tip.height.value;
        CHECK(height < blocks.back().height.value);
        CHECK(node.chain->status().durable_events == height + 1);
        CHECK(node.coins->snapshot()->tip().height.value == height);
        CHECK(node.store->block_reader().read_block(tip.hash).has_value());
        CHECK(eventually([&] { return node.coins->status().failed_flushes > full.failed_flushes + 3; }));
        CHECK(node.logger.complaints().size() == 2);  // the flusher's line and the chain's

        node.flush_faults.fail_at(Point::coin_put, 0);
        submitter.join();
        for (const BuiltBlock& block : blocks) node.expect_block(subscriber, block);
        CHECK(node.chain->status().write_error.empty());
        CHECK(eventually([&] { return !node.coins->status().failing; }));
        check_coins_of(node, blocks.back());
        std::uint64_t coins = 0;
        const auto snapshot = node.coins->snapshot();
        REQUIRE(snapshot.has_value());
        CHECK(snapshot->scan([&](const Outpoint&, const Coin&) -> Result<void> {
            ++coins;
            return {};
        }));
        CHECK(coins == blocks.size() * (kManyCoins + 1) + tip.height.value);
    }

    TEST_CASE("an import whose blocks share commits keeps to the memory for coins all the same") {
        const TemporaryDirectory directory;
        NodeParts node(directory.path(), kBudget);
        node.chain->begin_import();
        std::uint64_t most = 0;
        for (const BuiltBlock& block : chain_of(node, 100)) {
            REQUIRE(node.chain->import_block(ParsedBlock::parse(block.raw).value()));
            most = std::max(most, node.coins->status().bytes);
            node.tip = block;
        }
        REQUIRE(node.chain->end_import());
        CHECK(node.coins->status().flushes + (node.coins->status().flushing ? 1 : 0) >= 3);
        CHECK(most < kBudget + kBudget / 4);
        check_coins_of(node, node.tip);
    }

    TEST_CASE(
        "a stop while coins cannot be written ends soon, and the next start has all that was answered") {
        const TemporaryDirectory directory;
        BlockHash tip;
        {
            NodeParts node(directory.path(), kBudget);
            TestSubscriber subscriber(node.publisher->status().endpoint);
            node.synchronize(subscriber);
            node.flush_faults.fail_at(Point::coin_put, ENOSPC);
            const std::vector<BuiltBlock> blocks = chain_of(node, kBlocks);
            std::size_t answered = 0;
            std::thread submitter([&] {
                while (answered < blocks.size() && node.chain->submit_block(blocks[answered].raw)) ++answered;
            });
            REQUIRE(eventually([&] { return !node.chain->status().write_error.empty(); }));
            node.chain->stop();
            submitter.join();
            REQUIRE(answered > 0);
            REQUIRE(answered < blocks.size());
            tip = blocks[answered - 1].hash;
        }
        NodeParts node(directory.path(), kBudget);
        CHECK(node.chain->status().tip.hash == tip);
        CHECK(node.coins->snapshot()->tip().hash == tip);
    }

    TEST_CASE("a sync of the coins that fails ends writing for good, and reading goes on") {
        const TemporaryDirectory directory;
        BlockHash durable;
        {
            NodeParts node(directory.path(), kBudget);
            TestSubscriber subscriber(node.publisher->status().endpoint);
            node.synchronize(subscriber);
            node.flush_faults.fail_at(Point::coin_sync, EIO);
            for (const BuiltBlock& block : chain_of(node, kBlocks)) {
                if (!node.chain->submit_block(block.raw)) break;
                node.tip = block;
            }
            REQUIRE(eventually([&] { return node.coins->status().write_stopped; }));
            durable = node.chain->status().tip.hash;
            CHECK(durable == node.tip.hash);
            const auto refused = node.chain->submit_block(node.next_block().raw);
            REQUIRE_FALSE(refused.has_value());
            CHECK(refused.error().code == Errc::outcome_unknown);
            CHECK(node.chain->status().write_stopped);
            const auto snapshot = node.coins->snapshot();
            REQUIRE(snapshot.has_value());
            CHECK(snapshot->tip().hash == durable);
            CHECK(node.store->block_reader().read_block(durable).has_value());
        }
        NodeParts reopened(directory.path(), kBudget);
        CHECK(reopened.chain->status().tip.hash == durable);
        CHECK(reopened.coins->snapshot()->tip().hash == durable);
    }
}

}  // namespace
}  // namespace blockpub::test
