// SPDX-License-Identifier: MIT
#include "chain/chain.hpp"
#include "event_replay.hpp"
#include "fake_coins.hpp"
#include "support/regtest_chain.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;

namespace {

/// What a chain must come to, worked out the slow way: every block with its parent, whether it has been given
/// and can be connected, and since when.
class Model {
 public:
    explicit Model(const std::vector<BuiltBlock>& blocks) {
        for (const BuiltBlock& block : blocks) blocks_[block.hash] = {block.previous, block.height.value};
        give(regtest_genesis().hash);
    }

    void refuse(const BlockHash& hash) { refused_.insert(hash); }
    void invalidate(const BlockHash& hash) { invalidated_.insert(hash); }
    void reconsider(const BlockHash& hash) { invalidated_.erase(hash); }

    /// A block is seen when all its ancestors are here too; what waited for it follows at once, the nearest
    /// first, and siblings in the order in which they were given.
    void give(const BlockHash& hash) {
        blocks_[hash].given = ++clock_;
        std::deque<BlockHash> ready{hash};
        for (; !ready.empty(); ready.pop_front()) {
            Block& block = blocks_[ready.front()];
            const auto parent = blocks_.find(block.previous);
            if (block.seen != 0 || (parent != blocks_.end() && parent->second.seen == 0)) continue;
            block.seen = ++clock_;
            std::map<std::uint64_t, BlockHash> children;
            for (const auto& [each, child] : blocks_) {
                if (child.previous == ready.front() && child.given != 0) children[child.given] = each;
            }
            for (const auto& [given, child] : children) ready.push_back(child);
        }
    }

    [[nodiscard]] bool is_bad(BlockHash hash) const {
        for (auto found = blocks_.find(hash); found != blocks_.end(); found = blocks_.find(hash)) {
            if (refused_.contains(hash) || invalidated_.contains(hash)) return true;
            hash = found->second.previous;
        }
        return false;
    }

    /// Greatest height among the good ones.
    [[nodiscard]] std::uint32_t best_height() const {
        std::uint32_t best = 0;
        for (const auto& [hash, block] : blocks_) {
            if (block.seen != 0 && !is_bad(hash)) best = std::max(best, block.height);
        }
        return best;
    }
    /// First seen among the good ones of the greatest height.
    [[nodiscard]] BlockHash best() const {
        BlockHash best;
        std::uint64_t seen = 0;
        for (const auto& [hash, block] : blocks_) {
            if (block.seen == 0 || block.height != best_height() || is_bad(hash)) continue;
            if (seen == 0 || block.seen < seen) {
                seen = block.seen;
                best = hash;
            }
        }
        return best;
    }

 private:
    struct Block {
        BlockHash previous;
        std::uint32_t height = 0;
        std::uint64_t given = 0;
        std::uint64_t seen = 0;
    };
    std::map<BlockHash, Block> blocks_;
    std::set<BlockHash> refused_;
    std::set<BlockHash> invalidated_;
    std::uint64_t clock_ = 0;
};

std::vector<BuiltBlock> random_tree(std::size_t count, std::mt19937& random) {
    std::vector<BuiltBlock> blocks{regtest_genesis()};
    for (std::uint64_t i = 1; i <= count; ++i) {
        const std::size_t window =
            random() % 5 == 0 ? blocks.size() : std::min<std::size_t>(4, blocks.size());
        blocks.push_back(child_of(blocks[blocks.size() - 1 - random() % window], i));
    }
    return blocks;
}

void check_tables(RegtestChain& node, const std::vector<BlockHash>& chain) {
    const auto snapshot = must(node.store().snapshot());
    REQUIRE(must(snapshot.tip()).hash == chain.back());
    for (std::size_t i = 0; i < chain.size(); ++i) {
        REQUIRE(must(snapshot.active({static_cast<std::uint32_t>(i)})) == chain[i]);
        REQUIRE((must(snapshot.header(chain[i])).status & HeaderRecord::kConnected) != 0);
    }
    REQUIRE(snapshot.active({static_cast<std::uint32_t>(chain.size())}).error().code == Errc::not_found);
}

}  // namespace

TEST_SUITE_BEGIN("chain.model");

TEST_CASE("random trees in random order, with invalid blocks and calls by hand, end where the model says") {
    const unsigned seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937 random(seed);
    for (int round = 0; round < 4; ++round) {
        FakeCoins coins;
        auto options = RegtestChain::default_options();
        options.chain.coins = &coins;
        RegtestChain node(options);
        const auto tree = random_tree(60, random);
        Model model(tree);
        auto order = std::vector<BuiltBlock>(tree.begin() + 1, tree.end());
        std::ranges::shuffle(order, random);
        for (int i = 0; i < 3; ++i) {
            const BuiltBlock& refused = order[random() % order.size()];
            coins.refuse(refused.hash, "bad-cb-amount");
            model.refuse(refused.hash);
        }
        std::vector<BlockHash> by_hand;
        node.chain().begin_import();
        for (const BuiltBlock& block : order) {
            must(node.chain().import_block(must(ParsedBlock::parse(block.raw))));
            model.give(block.hash);
            if (random() % 12 == 0) {
                const BlockHash hash = tree[1 + random() % (tree.size() - 1)].hash;
                if (node.chain().invalidate_block(hash)) {
                    model.invalidate(hash);
                    by_hand.push_back(hash);
                }
            }
            if (random() % 30 == 0) {
                must(node.chain().end_import());
                node.restart();
                node.chain().begin_import();
            }
        }
        must(node.chain().end_import());
        // Blocks below an invalid one may have been turned down: the best of what is left has as much work.
        const auto tip_height = must(must(node.store().snapshot()).tip()).height.value;
        CHECK(tip_height == model.best_height());
        CHECK_FALSE(model.is_bad(node.tip()));
        auto chain = replay(node.log());
        check_tables(node, chain);
        CHECK(coins.chain() == chain);
        // With the invalidations taken back, and everything offered again, only the refused stay out.
        for (const BlockHash& hash : by_hand) {
            must(node.chain().reconsider_block(hash));
            model.reconsider(hash);
        }
        node.chain().begin_import();
        for (const BuiltBlock& block : tree)
            must(node.chain().import_block(must(ParsedBlock::parse(block.raw))));
        must(node.chain().end_import());
        CHECK(must(must(node.store().snapshot()).tip()).height.value == model.best_height());
        CHECK_FALSE(model.is_bad(node.tip()));
        chain = replay(node.log());
        check_tables(node, chain);
        CHECK(coins.chain() == chain);
        node.restart();
        CHECK(chain.back() == node.tip());
    }
}

TEST_CASE("random trees without calls by hand end at the most work, first seen") {
    const unsigned seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937 random(seed);
    for (int round = 0; round < 6; ++round) {
        RegtestChain node;
        const auto tree = random_tree(50, random);
        Model model(tree);
        auto order = std::vector<BuiltBlock>(tree.begin() + 1, tree.end());
        std::ranges::shuffle(order, random);
        for (std::size_t i = 0; i < order.size(); i += 10) {
            node.chain().begin_import();
            for (std::size_t k = i; k < i + 10; ++k) {
                must(node.chain().import_block(must(ParsedBlock::parse(order[k].raw))));
                model.give(order[k].hash);
            }
            must(node.chain().end_import());
            CHECK(node.tip() == model.best());
            if (random() % 2 == 0) node.restart();
        }
        check_tables(node, replay(node.log()));
    }
}
