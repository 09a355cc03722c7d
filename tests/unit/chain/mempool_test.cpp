// SPDX-License-Identifier: MIT
#include "chain/mempool.hpp"

#include "support/mempool_node.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;

namespace {

constexpr Amount kBlockReward = 50 * kCoin;
constexpr Amount kPaidFee = 10'000;

}  // namespace

TEST_SUITE_BEGIN("chain.mempool");

TEST_CASE("what a block takes leaves silently, and the sequence counts it") {
    MempoolNode node;
    node.mine(102);
    static_cast<void>(node.mempool_events());
    const TransactionSpec a = pay({node.coinbase(0)}, kBlockReward - kPaidFee);
    const TransactionSpec b = pay({output_of(a)}, kBlockReward - 2 * kPaidFee);
    CHECK(node.submit(a) == "accepted");
    CHECK(node.submit(b) == "accepted");
    CHECK(node.mempool_events() == "A1 A2");
    CHECK(node.board.summary().next_sequence.value == 3);
    node.mine_block({a});
    CHECK(node.mempool_events() == "C T");
    CHECK(node.board.summary().next_sequence.value == 4);
    const auto row = node.board.find(b.txid());
    REQUIRE(row);
    CHECK(row->ancestors.count == 1);
    CHECK(node.board.summary().tip.hash == node.chain->tip());
}

TEST_CASE("what conflicts with a block leaves with all that depends on it, before the block is told") {
    MempoolNode node;
    node.mine(102);
    const TransactionSpec a = pay({node.coinbase(0)}, kBlockReward - kPaidFee);
    const TransactionSpec b = pay({output_of(a)}, kBlockReward - 2 * kPaidFee);
    const TransactionSpec other = pay({node.coinbase(0)}, kBlockReward - 3 * kPaidFee);
    CHECK(node.submit(a) == "accepted");
    CHECK(node.submit(b) == "accepted");
    static_cast<void>(node.mempool_events());
    node.mine_block({other});
    CHECK(node.mempool_events() == "R3 R4 C T");
    CHECK(node.board.summary().count == 0);
}

TEST_CASE("a block that is taken back gives its transactions back in their order") {
    MempoolNode node;
    node.mine(102);
    const TransactionSpec a = pay({node.coinbase(0)}, kBlockReward - kPaidFee);
    const TransactionSpec b = pay({output_of(a)}, kBlockReward - 2 * kPaidFee);
    const TransactionSpec c = pay({output_of(b)}, kBlockReward - 3 * kPaidFee);
    node.mine_block({a, b});
    CHECK(node.submit(c) == "accepted");
    static_cast<void>(node.mempool_events());
    must(node.chain->chain().invalidate_block(node.chain->tip()));
    // The tip update, of which no topic speaks here, belongs to the record of the disconnect.
    CHECK(node.mempool_events() == "D T A2 A3");
    const auto row = node.board.find(a.txid());
    REQUIRE(row);
    CHECK(row->descendants.count == 3);
    CHECK(node.board.find(c.txid())->ancestors.count == 3);
    CHECK(node.board.find(c.txid())->ancestors.modified_fees == 3 * kPaidFee);
}

TEST_CASE(
    "what a reorganization makes immature leaves, and what it gives up is held against the new branch") {
    MempoolNode node;
    node.mine(101);
    const TransactionSpec young = pay({node.coinbase(1)}, kBlockReward - kPaidFee);
    CHECK(node.submit(young) == "accepted");
    const TransactionSpec a = pay({node.coinbase(0)}, kBlockReward - kPaidFee);
    const BuiltBlock fork = node.blocks[99];
    node.mine_block({a});
    static_cast<void>(node.mempool_events());
    // Three blocks in place of two. They spend the same coin to something else.
    BlockSpec first = child_spec(fork, 7);
    first.transactions = {pay({node.coinbase(0)}, kBlockReward - 2 * kPaidFee)};
    const BuiltBlock one = build_block(first);
    const auto rest = build_branch(one, 2, 7);
    CHECK(node.chain->submit(one) == "inconclusive");
    CHECK(node.chain->submit(rest[0]) == "inconclusive");
    CHECK(node.chain->submit(rest[1]).empty());
    CHECK(node.has(young));
    CHECK_FALSE(node.has(a));
    CHECK(node.mempool_events() == "D D C C C T");
    // Taking all of the new branch back leaves a tip on which the coin is one block short of its age.
    must(node.chain->chain().invalidate_block(node.blocks[100].hash));
    must(node.chain->chain().invalidate_block(one.hash));
    CHECK_FALSE(node.has(young));
}

TEST_CASE("of a deep invalidation only the first ten blocks' transactions return") {
    MempoolNode node;
    node.mine(112);
    std::vector<TransactionSpec> paid;
    for (std::size_t i = 0; i < 12; ++i) {
        paid.push_back(pay({node.coinbase(i)}, kBlockReward - kPaidFee));
        node.mine_block({paid.back()});
    }
    must(node.chain->chain().invalidate_block(node.blocks[112].hash));
    CHECK_FALSE(node.has(paid[0]));
    CHECK_FALSE(node.has(paid[1]));
    for (std::size_t i = 2; i < 12; ++i) CHECK(node.has(paid[i]));
}

TEST_CASE("a full mempool lets go of what is worth least, and asks for more from then on") {
    MempoolOptions options = MempoolNode::nonstandard();
    options.max_bytes = 6'000;
    MempoolNode node(options);
    node.mine(110);
    const TransactionSpec cheap = pay({node.coinbase(0)}, kBlockReward - 1'000);
    CHECK(node.submit(cheap) == "accepted");
    std::size_t next = 1;
    while (node.has(cheap)) {
        CHECK(node.submit(pay({node.coinbase(next)}, kBlockReward - static_cast<Amount>(2'000 * next))) ==
              "accepted");
        ++next;
        REQUIRE(next < 9);
    }
    const MempoolSummary summary = node.board.summary();
    CHECK(summary.memory <= options.max_bytes);
    CHECK(summary.min_fee > FeeRate{1000});
    CHECK(node.submit(cheap).starts_with("mempool min fee not met, 1000 < "));
}

TEST_CASE("a transaction that waited too long leaves when the next one comes") {
    MempoolNode node;
    node.mine(103);
    const TransactionSpec old = pay({node.coinbase(0)}, kBlockReward - kPaidFee);
    CHECK(node.submit(old) == "accepted");
    node.chain->clock().set_fixed(RegtestChain::kNow + 336 * 60 * 60 + 1);
    static_cast<void>(node.mempool_events());
    CHECK(node.submit(pay({node.coinbase(1)}, kBlockReward - kPaidFee)) == "accepted");
    CHECK_FALSE(node.has(old));
    CHECK(node.mempool_events() == "R2 A3");
}

TEST_CASE("a transaction that is sent again is there already, and one that is confirmed is said to be") {
    MempoolNode node;
    node.mine(102);
    const TransactionSpec a = pay({node.coinbase(0)}, kBlockReward - kPaidFee);
    using Kind = SendOutcome::Kind;
    CHECK(must(node.service->send(MempoolNode::decode(a), kPaidFee - 1)).kind == Kind::fee_too_high);
    CHECK_FALSE(node.has(a));
    CHECK(must(node.service->send(MempoolNode::decode(a), kPaidFee)).kind == Kind::sent);
    CHECK(must(node.service->send(MempoolNode::decode(a), kPaidFee)).kind == Kind::sent);
    CHECK(node.board.summary().unbroadcast == 1);
    CHECK(node.board.find(a.txid())->unbroadcast);
    CHECK(node.service->contents().unbroadcast == std::set<Txid>{a.txid()});
    node.mine_block({a});
    CHECK(node.board.summary().unbroadcast == 0);
    CHECK(must(node.service->send(MempoolNode::decode(a), kPaidFee)).kind == Kind::confirmed);
}

TEST_CASE("a file of the mempool brings it back, and what has changed since is left out") {
    MempoolNode node;
    node.mine(103);
    const TransactionSpec a = pay({node.coinbase(0)}, kBlockReward - kPaidFee);
    const TransactionSpec b = pay({output_of(a)}, kBlockReward - 2 * kPaidFee);
    const TransactionSpec c = pay({node.coinbase(1)}, kBlockReward - kPaidFee);
    for (const auto& spec : {a, b, c}) CHECK(node.submit(spec) == "accepted");
    const auto file = MempoolFile::encode(node.service->contents(), {1, 2, 3, 4, 5, 6, 7, 8});
    const auto contents = must(MempoolFile::decode(file));
    REQUIRE(contents.items.size() == 3);

    MempoolNode other;
    other.mine(102);
    other.mine_block({pay({other.coinbase(1)}, kBlockReward - 2 * kPaidFee)});
    const auto counts = must(other.service->load(contents, {}));
    CHECK(counts.accepted == 2);
    CHECK(counts.refused == 1);
    CHECK(other.has(a));
    CHECK(other.has(b));
    CHECK(other.board.find(a.txid())->time == node.board.find(a.txid())->time);
    CHECK(must(other.service->load(contents, {})).already_there == 2);
    other.chain->clock().set_fixed(RegtestChain::kNow + 400 * 60 * 60);
    CHECK(must(other.service->load(contents, {})).expired == 3);
}

TEST_CASE("prioritising counts in every judgement, and has its bounds") {
    MempoolNode node;
    node.mine(103);
    const TransactionSpec a = pay({node.coinbase(0)}, kBlockReward - 10);
    CHECK(node.submit(a) == "min relay fee not met, 10 < 94");
    MempoolFileContents file;
    file.fee_deltas.emplace(a.txid(), 1000);
    must(node.service->load(file, {}));
    CHECK(node.submit(a) == "accepted");
    const TransactionSpec b = pay({output_of(a)}, kBlockReward - 10 - kPaidFee);
    CHECK(node.submit(b) == "accepted");
    CHECK(node.board.find(a.txid())->modified_fee == 1010);
    CHECK(node.board.find(b.txid())->ancestors.modified_fees == 1010 + kPaidFee);
    for (int i = 0; i < 3; ++i) {
        file.fee_deltas.at(a.txid()) = std::numeric_limits<Amount>::max();
        must(node.service->load(file, {}));
    }
    CHECK(node.board.find(a.txid())->modified_fee == kMaxMoney + 10);
    CHECK(node.board.find(b.txid())->ancestors.modified_fees == kMaxMoney + 10 + kPaidFee);
    CHECK(node.board.find(a.txid())->descendants.modified_fees == kMaxMoney + 10 + kPaidFee);
    CHECK(node.service->contents().items.front().fee_delta == kMaxMoney);
    node.mine_block({a, b});
    CHECK(node.service->contents().fee_deltas.empty());
}

TEST_CASE("what is prioritised is shown with the fee that counts, until a block has it or it adds up to 0") {
    MempoolNode node;
    node.mine(102);
    const TransactionSpec here = pay({node.coinbase(0)}, kBlockReward - kPaidFee);
    const TransactionSpec elsewhere = pay({node.coinbase(1)}, kBlockReward - kPaidFee);
    CHECK(node.submit(here) == "accepted");
    const auto shown = [&] {
        std::map<Txid, std::pair<Amount, std::optional<Amount>>> all;
        for (const PrioritisedTransaction& one : node.board.prioritised())
            all.emplace(one.txid, std::pair{one.delta, one.modified_fee});
        return all;
    };
    CHECK(shown().empty());
    must(node.service->prioritise(here.txid(), 700));
    must(node.service->prioritise(here.txid(), -200));
    must(node.service->prioritise(elsewhere.txid(), -1));
    CHECK(shown().size() == 2);
    CHECK(shown().at(here.txid()) == std::pair{Amount{500}, std::optional<Amount>(kPaidFee + 500)});
    CHECK(shown().at(elsewhere.txid()) == std::pair{Amount{-1}, std::optional<Amount>()});
    CHECK(node.board.find(here.txid())->modified_fee == kPaidFee + 500);
    const MempoolFileContents saved = node.service->contents();
    CHECK(saved.items.front().fee_delta == 500);
    CHECK(saved.fee_deltas == std::map<Txid, std::int64_t>{{elsewhere.txid(), -1}});
    must(node.service->prioritise(elsewhere.txid(), 1));
    CHECK(shown().size() == 1);
    node.mine_block({here});
    CHECK(shown().empty());
}

TEST_CASE("a block ends the prioritising of what it has, also when the mempool is empty") {
    MempoolNode node;
    node.mine(102);
    const TransactionSpec taken = pay({node.coinbase(0)}, kBlockReward - kPaidFee);
    const TransactionSpec other = pay({node.coinbase(1)}, kBlockReward - kPaidFee);
    MempoolFileContents file;
    file.fee_deltas = {{taken.txid(), 1000}, {other.txid(), 2000}};
    must(node.service->load(file, {}));
    node.mine_block({taken});
    CHECK(node.service->contents().fee_deltas == std::map<Txid, std::int64_t>{{other.txid(), 2000}});
}

TEST_CASE("what is shown while others read is applied whole, and in its order") {
    constexpr std::uint64_t kUpdates = 300;
    constexpr std::uint64_t kKept = 8;
    std::vector<MempoolRow> rows(kUpdates);
    for (std::uint64_t i = 0; i < kUpdates; ++i)
        rows[i].transaction = MempoolNode::decode(pay({Outpoint{}}, static_cast<Amount>(i)));
    MempoolBoard board;
    std::atomic<bool> stop = false;
    std::atomic<unsigned> broken = 0;
    const auto read = [&] {
        std::uint64_t last = 1;
        while (!stop) {
            const MempoolBoard::All all = board.all();
            broken += all.rows.size() == std::min(all.next_sequence.value - 1, kKept) ? 0 : 1;
            broken += all.next_sequence.value >= last ? 0 : 1;
            last = all.next_sequence.value;
        }
    };
    std::thread one(read);
    std::thread two(read);
    for (std::uint64_t i = 0; i < kUpdates; ++i) {
        MempoolBoard::Update update;
        update.rows.push_back(rows[i]);
        if (i >= kKept) update.gone.insert(rows[i - kKept].transaction->txid());
        update.summary.next_sequence = MempoolSequence{i + 2};
        board.publish(std::move(update));
        // Whoever caused a change sees it when the call is over.
        CHECK(board.summary().next_sequence.value == i + 2);
        CHECK(board.find(rows[i].transaction->txid()));
    }
    stop = true;
    one.join();
    two.join();
    CHECK(broken == 0);
    CHECK(board.all().rows.size() == kKept);
}

TEST_CASE("readers see changes whole, and need no chain lock") {
    MempoolNode node;
    node.mine(102);
    std::atomic<bool> stop = false;
    std::atomic<unsigned> broken = 0;
    std::thread reader([&] {
        while (!stop) {
            std::set<Outpoint> spent;
            const auto all = node.board.all_details();
            for (const MempoolRowDetails& details : all) {
                for (const Outpoint& outpoint : details.row.transaction->spends())
                    broken += spent.insert(outpoint).second ? 0 : 1;
                broken += details.row.ancestors.count == details.parents.size() + 1 ? 0 : 1;
            }
        }
    });
    // A parent and its child are replaced together, again and again.
    for (Amount fee = kPaidFee; fee < 12 * kPaidFee; fee += 3 * kPaidFee) {
        const TransactionSpec parent = pay({node.coinbase(0)}, kBlockReward - fee);
        const TransactionSpec child = pay({output_of(parent)}, kBlockReward - fee - kPaidFee);
        CHECK(node.submit(parent) == "accepted");
        CHECK(node.submit(child) == "accepted");
    }
    std::optional<MempoolRow> last;
    {
        const MutexLock held(node.chain->chain().chain_lock());
        CHECK(node.board.summary().count == 2);
        last = node.board.all().rows.front();
        CHECK(node.board.descendants(last->transaction->txid())->size() == 1);
        CHECK(node.board.look_up(node.coinbase(0)).spent);
        CHECK(node.service->contents().items.size() == 2);
    }
    stop = true;
    reader.join();
    CHECK(broken == 0);
}
