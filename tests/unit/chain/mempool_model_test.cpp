// SPDX-License-Identifier: MIT
// Random transactions, replacements, blocks and reorganizations; what the mempool shows and tells is held
// against what can be worked out from the outside.
#include "support/mempool_node.hpp"
#include "support/seed.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

using namespace blockpub;
using namespace blockpub::test;

namespace {

constexpr Amount kModelFee = 10'000;

/// A subscriber's view: what it has heard of the mempool, and how the numbers ran.
class Listener {
 public:
    /// `blocks`: the transactions of each block, to know what a connect takes silently.
    void hear(const std::vector<Event>& events, const std::map<BlockHash, std::vector<Txid>>& blocks) {
        for (const Event& event : events) {
            if (const auto* added = std::get_if<TransactionAddedToMempool>(&event)) {
                number(added->sequence);
                CHECK(txids.insert(added->txid).second);
            } else if (const auto* removed = std::get_if<TransactionRemovedFromMempool>(&event)) {
                number(removed->sequence);
                CHECK(txids.erase(removed->txid) == 1);
            } else if (const auto* connected = std::get_if<BlockConnected>(&event)) {
                for (const Txid& txid : blocks.at(connected->hash)) silent_ += txids.erase(txid);
            }
        }
    }
    /// All numbers below `next` have been told or belong to what blocks took.
    void check_numbers(MempoolSequence next) const { CHECK(last_ + silent_ - skipped_ + 1 == next.value); }
    std::set<Txid> txids;

 private:
    void number(MempoolSequence sequence) {
        CHECK(sequence.value > last_);
        skipped_ += sequence.value - last_ - 1;
        last_ = sequence.value;
    }
    std::uint64_t last_ = 0;
    std::uint64_t skipped_ = 0;  // numbers that no event had: taken by blocks
    std::uint64_t silent_ = 0;   // transactions that blocks took
};

class MempoolModel {
 public:
    explicit MempoolModel(unsigned seed) : random_(seed) {
        contents_.emplace(regtest_genesis().hash, std::vector<Txid>{});
        node_.mine(110);
        for (std::size_t i = 0; i < node_.blocks.size(); ++i) {
            know(node_.blocks[i].coinbase);
            note_block(node_.blocks[i], {});
        }
        // Something to begin with that is old enough.
        for (std::size_t i = 0; i < 8; ++i) {
            const TransactionSpec spec = pay({node_.coinbase(i)}, 16 * kCoin, 3);
            REQUIRE(node_.submit(spec) == "accepted");
            know(spec);
        }
        listener_.hear(node_.chain->released(), contents_);
    }
    /// That enough has happened to mean something.
    void check_variety() const {
        CHECK(accepted_ > 50);
        CHECK(most_ > 8);
    }
    void step() {
        const unsigned choice = pick(100);
        if (choice < 75) {
            for (int i = 0; i < 3; ++i) submit();
        } else if (choice < 88) {
            mine();
        } else if (choice < 96) {
            invalidate();
        } else {
            reconsider();
        }
        listener_.hear(node_.chain->released(), contents_);
        check();
    }

 private:
    unsigned pick(std::size_t below) {
        return std::uniform_int_distribution<unsigned>(0, static_cast<unsigned>(below - 1))(random_);
    }
    void note_block(const BuiltBlock& block, const std::vector<TransactionSpec>& transactions) {
        std::vector<Txid>& txids = contents_[block.hash];
        txids.push_back(block.coinbase.txid());
        for (const TransactionSpec& spec : transactions) txids.push_back(spec.txid());
        by_hash_.emplace(block.hash, block);
    }
    /// Spends outputs that were made at any time, the newest more often: some are spent, replaced, of another
    /// branch or too young, and the refusal must leave no trace.
    void submit() {
        std::vector<Outpoint> from;
        Amount value = 0;
        for (unsigned i = 0; i <= pick(2); ++i) {
            const std::size_t back =
                pick(pick(4) == 0 ? made_.size() : std::min<std::size_t>(made_.size(), 25));
            const Outpoint& outpoint = made_[made_.size() - 1 - back];
            if (std::ranges::find(from, outpoint) != from.end()) continue;
            from.push_back(outpoint);
            value += known_.at(outpoint.txid).outputs[outpoint.position].amount;
        }
        const std::size_t outputs = 1 + pick(3);
        const Amount each =
            value / static_cast<Amount>(outputs) - static_cast<Amount>(1 + pick(50)) * kModelFee;
        if (each <= 0) return;
        const TransactionSpec spec = pay(from, each, outputs);
        if (node_.submit(spec) != "accepted") return;
        know(spec);
        ++accepted_;
        most_ = std::max(most_, node_.board.summary().count);
    }
    void know(const TransactionSpec& spec) {
        const Txid txid = spec.txid();
        if (!known_.emplace(txid, spec).second) return;
        for (std::uint32_t i = 0; i < spec.outputs.size(); ++i) {
            if (spec.outputs[i].amount > 0) made_.push_back({.txid = txid, .position = i});
        }
    }
    /// A block on the tip with some of the mempool, parents first, and perhaps one that nobody has seen.
    void mine() {
        const BlockHash tip = node_.chain->tip();
        BlockSpec spec = child_spec(by_hash_.at(tip), ++salt_);
        spec.coinbase_amount = kCoin;
        std::set<Txid> left_out;
        for (const MempoolRow& row : node_.board.all().rows) {
            const bool orphaned = std::ranges::any_of(
                row.transaction->spends(),
                [&](const Outpoint& outpoint) { return left_out.contains(outpoint.txid); });
            if (orphaned || pick(2) == 0) {
                left_out.insert(row.transaction->txid());
            } else {
                spec.transactions.push_back(known_.at(row.transaction->txid()));
            }
        }
        if (pick(3) == 0) add_conflict(spec);
        const BuiltBlock block = build_block(spec);
        note_block(block, spec.transactions);
        know(block.coinbase);
        CHECK(node_.chain->submit(block).empty());
    }
    /// Another spend of what a transaction spends that the block leaves out.
    void add_conflict(BlockSpec& spec) {
        for (const MempoolRow& row : node_.board.all().rows) {
            const bool taken = std::ranges::any_of(spec.transactions, [&](const TransactionSpec& other) {
                return other.txid() == row.transaction->txid();
            });
            if (taken || row.ancestors.count != 1) continue;
            TransactionSpec other = known_.at(row.transaction->txid());
            other.lock_time = 1;
            spec.transactions.push_back(other);
            know(other);
            return;
        }
    }
    void invalidate() {
        BlockHash hash = node_.chain->tip();
        for (unsigned i = pick(4); i > 0; --i) hash = by_hash_.at(hash).previous;
        if (by_hash_.at(hash).height.value <= 105) return;
        invalidated_.push_back(hash);
        must(node_.chain->chain().invalidate_block(hash));
    }
    void reconsider() {
        if (invalidated_.empty()) return;
        must(node_.chain->chain().reconsider_block(invalidated_[pick(invalidated_.size())]));
    }

    void check() {
        const auto all = node_.board.all();
        std::map<Txid, MempoolRow> rows;
        std::set<Outpoint> spent;
        for (const MempoolRow& row : all.rows) {
            rows.emplace(row.transaction->txid(), row);
            for (const Outpoint& outpoint : row.transaction->spends()) CHECK(spent.insert(outpoint).second);
        }
        CHECK(node_.board.summary().tip.hash == node_.chain->tip());
        check_listener(rows, all.next_sequence);
        const CoinSnapshot coins = must(node_.coins->snapshot());
        for (const auto& [txid, row] : rows) {
            CHECK(row.ancestors == sums(rows, family(rows, row, true)));
            CHECK(row.descendants == sums(rows, family(rows, row, false)));
            check_inputs(coins, rows, row);
        }
    }
    void check_listener(const std::map<Txid, MempoolRow>& rows, MempoolSequence next) {
        std::set<Txid> shown;
        for (const auto& [txid, row] : rows) shown.insert(txid);
        CHECK(listener_.txids == shown);
        listener_.check_numbers(next);
    }
    static void check_inputs(const CoinSnapshot& coins, const std::map<Txid, MempoolRow>& rows,
                             const MempoolRow& row) {
        for (const Outpoint& outpoint : row.transaction->spends()) {
            if (!rows.contains(outpoint.txid)) CHECK(coins.find(outpoint).has_value());
        }
    }
    static std::set<Txid> family(const std::map<Txid, MempoolRow>& rows, const MempoolRow& row, bool up) {
        std::set<Txid> family{row.transaction->txid()};
        for (bool grew = true; grew;) {
            grew = false;
            for (const auto& [txid, other] : rows) {
                for (const Outpoint& outpoint : other.transaction->spends()) {
                    if (!rows.contains(outpoint.txid)) continue;
                    const Txid& from = up ? txid : outpoint.txid;
                    const Txid& to = up ? outpoint.txid : txid;
                    if (family.contains(from)) grew |= family.insert(to).second;
                }
            }
        }
        return family;
    }
    static MempoolEntry::Sums sums(const std::map<Txid, MempoolRow>& rows, const std::set<Txid>& family) {
        MempoolEntry::Sums sums;
        for (const Txid& txid : family) {
            const MempoolRow& row = rows.at(txid);
            sums.count += 1;
            sums.vsize += row.vsize;
            sums.modified_fees += row.modified_fee;
        }
        return sums;
    }

    std::mt19937 random_;
    MempoolNode node_;
    Listener listener_;
    std::map<Txid, TransactionSpec> known_;
    std::vector<Outpoint> made_;  // oldest first
    std::uint64_t accepted_ = 0;
    std::uint64_t most_ = 0;
    std::map<BlockHash, std::vector<Txid>> contents_;
    std::map<BlockHash, BuiltBlock> by_hash_;
    std::vector<BlockHash> invalidated_;
    std::uint64_t salt_ = 1000;
};

}  // namespace

TEST_SUITE_BEGIN("chain.mempool_model");

TEST_CASE("whatever happens, the mempool is consistent, and a subscriber knows what is in it") {
    const unsigned seed = seed_of_run();
    MESSAGE("seed " << seed);
    MempoolModel model(seed);
    for (int i = 0; i < 200; ++i) model.step();
    model.check_variety();
}
