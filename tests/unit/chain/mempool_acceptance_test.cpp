// SPDX-License-Identifier: MIT
#include "chain/mempool_acceptance.hpp"

#include "support/mempool_node.hpp"

#include <doctest/doctest.h>

#include <functional>

using namespace blockpub;
using namespace blockpub::test;

namespace {

constexpr Amount kReward = 50 * kCoin;
constexpr Amount kFee = 10'000;

/// A chain whose first two coinbases can be spent.
class Funded : public MempoolNode {
 public:
    explicit Funded(MempoolOptions options = nonstandard()) : MempoolNode(options) { mine(106); }
};

std::string hex_of(const TransactionSpec& spec) {
    return spec.txid().display_hex();
}
std::string name_of(const TransactionSpec& spec) {
    return "tx " + hex_of(spec) + " (wtxid=" + MempoolNode::decode(spec)->wtxid().display_hex() + ")";
}

}  // namespace

TEST_SUITE_BEGIN("chain.mempool_acceptance");

TEST_CASE("a transaction that breaks a rule is refused with bitcoind's words") {
    Funded node;
    const TransactionSpec good = pay({node.coinbase(0)}, kReward - kFee);
    const auto changed = [&](const std::function<void(TransactionSpec&)>& change) {
        TransactionSpec spec = good;
        change(spec);
        return node.submit(spec);
    };
    CHECK(changed([](auto& t) { t.outputs.clear(); }) == "bad-txns-vout-empty");
    CHECK(changed([](auto& t) { t.outputs[0].amount = -1; }) == "bad-txns-vout-negative");
    CHECK(changed([](auto& t) { t.inputs.push_back(t.inputs[0]); }) == "bad-txns-inputs-duplicate");
    CHECK(changed([](auto& t) { t.inputs[0].prevout.position = 7; }) == "bad-txns-inputs-missingorspent");
    CHECK(changed([](auto& t) { t.outputs[0].script = {0x51}; }) == "tx-size-small");
    CHECK(changed([](auto& t) { t.lock_time = 400; }) == "non-final");
    CHECK(changed([](auto& t) { t.inputs[0].sequence = 300; }) == "non-BIP68-final");
    CHECK(changed([](auto& t) { t.outputs[0].amount = kReward + 1; }) ==
          "bad-txns-in-belowout, value in (50.00) < value out (50.00000001)");
    CHECK(changed([](auto& t) { t.outputs[0].amount = kReward - 10; }) == "min relay fee not met, 10 < 94");
    CHECK(changed([&](auto& t) { t.inputs[0].prevout = node.coinbase(60); }) ==
          "bad-txns-premature-spend-of-coinbase, tried to spend coinbase at depth 46");
    CHECK(node.submit(node.blocks[3].coinbase) == "coinbase");
    CHECK(node.submit(good) == "accepted");
    CHECK(node.submit(good) == "txn-already-in-mempool");
    CHECK(changed([](auto& t) { t.inputs[0].witness = {Bytes{1}}; }) ==
          "txn-same-nonwitness-data-in-mempool");
}

TEST_CASE("a node that asks for standard transactions refuses the others by name") {
    MempoolOptions options;
    Funded node(options);
    const Script key_hash = [] {
        Script script{0x00, 0x14};
        script.resize(22, 7);
        return script;
    }();
    TransactionSpec good = pay({node.coinbase(0)}, kReward - kFee);
    good.outputs[0].script = key_hash;
    const auto changed = [&](const std::function<void(TransactionSpec&)>& change) {
        TransactionSpec spec = good;
        change(spec);
        return node.submit(spec);
    };
    // The coinbase's own script, OP_TRUE, is no standard one.
    CHECK(changed([](auto&) {}) == "bad-txns-nonstandard-inputs");
    CHECK(changed([](auto& t) { t.version = 4; }) == "version");
    CHECK(changed([](auto& t) { t.version = 0; }) == "version");
    CHECK(changed([](auto& t) { t.inputs[0].script = Script(1651, 0x51); }) == "scriptsig-size");
    CHECK(changed([](auto& t) { t.inputs[0].script = {0x61}; }) == "scriptsig-not-pushonly");
    CHECK(changed([](auto& t) { t.outputs[0].script = {0x51}; }) == "scriptpubkey");
    CHECK(changed([](auto& t) { t.outputs[0].amount = 293; }) == "dust");
    const Script data{0x6a, 0x02, 1, 2};
    CHECK(changed([&](auto& t) { t.outputs.push_back({0, data}); }) == "bad-txns-nonstandard-inputs");
    CHECK(changed([&](auto& t) { t.outputs.insert(t.outputs.end(), 2, {0, data}); }) == "multi-op-return");
    CHECK(changed([&](auto& t) {
              Script large{0x6a, 0x4c, 82};
              large.resize(85, 1);
              t.outputs.push_back({0, large});
          }) == "scriptpubkey");
}

TEST_CASE("a replacement must pay more, by rate and in all, and for its own relay") {
    Funded node;
    const TransactionSpec first = pay({node.coinbase(0)}, kReward - kFee);
    const TransactionSpec child = pay({output_of(first)}, kReward - 3 * kFee);
    CHECK(node.submit(first) == "accepted");
    CHECK(node.submit(child) == "accepted");
    const auto refusal = [&](Amount fee, const std::string& details) {
        const TransactionSpec other = pay({node.coinbase(0)}, kReward - fee, 1);
        CHECK(node.submit(other) == "insufficient fee, rejecting replacement " + hex_of(other) + details);
    };
    refusal(kFee - 1, "; new feerate 0.00106372 BTC/kvB <= old feerate 0.00106382 BTC/kvB");
    refusal(2 * kFee, ", less fees than conflicting txs; 0.0002 < 0.0003");
    refusal(3 * kFee + 93, ", not enough additional fees to relay; 0.00000093 < 0.00000094");
    static_cast<void>(node.mempool_events());
    const TransactionSpec last = pay({node.coinbase(0)}, kReward - 3 * kFee - 94);
    CHECK(node.submit(last) == "accepted");
    CHECK(node.mempool_events() == "R3 R4 A5");
    CHECK_FALSE(node.has(child));
}

TEST_CASE("a replacement must not bring unconfirmed inputs, nor spend what it replaces") {
    Funded node;
    const TransactionSpec first = pay({node.coinbase(0)}, kReward - kFee);
    const TransactionSpec side = pay({node.coinbase(1)}, kReward - kFee);
    CHECK(node.submit(first) == "accepted");
    CHECK(node.submit(side) == "accepted");
    const TransactionSpec adds = pay({node.coinbase(0), output_of(side)}, 2 * kReward - 20 * kFee);
    CHECK(node.submit(adds) ==
          "replacement-adds-unconfirmed, replacement " + hex_of(adds) + " adds unconfirmed input, idx 1");
    const TransactionSpec own = pay({node.coinbase(0), output_of(first)}, kReward);
    CHECK(node.submit(own) == "bad-txns-spends-conflicting-tx, " + hex_of(own) +
                                  " spends conflicting transaction " + hex_of(first));
}

TEST_CASE("without full replacement only what says so is replaced") {
    MempoolOptions options = MempoolNode::nonstandard();
    options.policy.full_replacement = false;
    Funded node(options);
    const TransactionSpec final_one = pay({node.coinbase(0)}, kReward - kFee, 1, 0xfffffffe);
    CHECK(node.submit(final_one) == "accepted");
    CHECK(node.submit(pay({node.coinbase(0)}, kReward - 5 * kFee)) == "txn-mempool-conflict");
    CHECK(node.submit(pay({node.coinbase(1)}, kReward - kFee)) == "accepted");
    CHECK(node.submit(pay({node.coinbase(1)}, kReward - 5 * kFee)) == "accepted");
}

TEST_CASE("a family has its limits, and a small child more may join a parent that is alone") {
    Funded node;
    std::vector<TransactionSpec> chain{pay({node.coinbase(0)}, kReward - kFee, 1)};
    CHECK(node.submit(chain[0]) == "accepted");
    for (std::size_t i = 1; i < 25; ++i) {
        chain.push_back(pay({output_of(chain.back())}, kReward - static_cast<Amount>(i + 1) * kFee));
        CHECK(node.submit(chain.back()) == "accepted");
    }
    CHECK(node.submit(pay({output_of(chain.back())}, kReward - 30 * kFee)) ==
          "too-long-mempool-chain, too many unconfirmed ancestors [limit: 25]");
    const TransactionSpec wide = pay({node.coinbase(1)}, kCoin, 30);
    CHECK(node.submit(wide) == "accepted");
    for (std::uint32_t i = 0; i < 24; ++i)
        CHECK(node.submit(pay({output_of(wide, i)}, kCoin - kFee)) == "accepted");
    CHECK(node.submit(pay({output_of(wide, 24)}, kCoin - kFee)) == "accepted");
    CHECK(node.submit(pay({output_of(wide, 25)}, kCoin - kFee)) ==
          "too-long-mempool-chain, too many descendants for tx " + hex_of(wide) + " [limit: 25]");
}

TEST_CASE("in a full family one may replace another, but not as part of a package") {
    Funded node;
    const TransactionSpec head = pay({node.coinbase(0)}, kCoin, 24);
    CHECK(node.submit(head) == "accepted");
    for (std::uint32_t i = 0; i < 24; ++i)
        CHECK(node.submit(pay({output_of(head, i)}, kCoin - kFee)) == "accepted");
    CHECK(node.board.find(head.txid())->descendants.count == 25);
    const TransactionSpec parent = pay({node.coinbase(1)}, kReward - kFee);
    const TransactionSpec child = pay({output_of(parent), output_of(head)}, kReward - 5 * kFee);
    const auto outcome = must(node.service->submit_package(
        {MempoolNode::decode(head), MempoolNode::decode(parent), MempoolNode::decode(child)}, std::nullopt));
    const TransactionOutcome& refused = outcome.outcomes.at(MempoolNode::decode(child)->wtxid());
    CHECK_FALSE(refused.accepted());
    CHECK(refused.refusal.text().starts_with("too-long-mempool-chain"));
    CHECK(node.has(parent));
    CHECK(node.submit(pay({output_of(head)}, kCoin - 5 * kFee)) == "accepted");
}

TEST_CASE("transactions of version 3 keep to one parent and one child") {
    Funded node;
    const auto v3 = [](TransactionSpec spec) {
        spec.version = 3;
        return spec;
    };
    const TransactionSpec parent = v3(pay({node.coinbase(0)}, 20 * kCoin, 2));
    CHECK(node.submit(parent) == "accepted");
    const TransactionSpec stranger = pay({output_of(parent)}, kCoin);
    CHECK(node.submit(stranger) == "TRUC-violation, non-version=3 " + name_of(stranger) +
                                       " cannot spend from version=3 " + name_of(parent));
    const TransactionSpec large = v3(pay({output_of(parent)}, kCoin / 4, 60));
    CHECK(node.submit(large).starts_with("TRUC-violation, version=3 child " + name_of(large) +
                                         " is too big: "));
    const TransactionSpec child = v3(pay({output_of(parent, 0)}, 20 * kCoin - kFee));
    CHECK(node.submit(child) == "accepted");
    const TransactionSpec poor = v3(pay({output_of(parent, 1)}, 20 * kCoin - kFee));
    CHECK(node.submit(poor).starts_with("insufficient fee (including sibling eviction), "));
    const TransactionSpec rich = v3(pay({output_of(parent, 1)}, 20 * kCoin - 3 * kFee));
    CHECK(node.submit(rich) == "accepted");
    CHECK_FALSE(node.has(child));
    const TransactionSpec grandchild = v3(pay({output_of(rich)}, 10 * kCoin));
    CHECK(node.submit(grandchild) ==
          "TRUC-violation, " + name_of(grandchild) + " would have too many ancestors");
}

TEST_CASE("a test changes nothing, and several are judged as if the earlier ones were in") {
    Funded node;
    const TransactionSpec a = pay({node.coinbase(0)}, kReward - kFee);
    const TransactionSpec b = pay({output_of(a)}, kReward - 2 * kFee);
    static_cast<void>(node.mempool_events());
    const auto tested = must(node.service->test({MempoolNode::decode(a), MempoolNode::decode(b)}));
    CHECK(tested.state == PackageOutcome::State::ok);
    CHECK(tested.outcomes.size() == 2);
    CHECK(node.mempool_events().empty());
    CHECK(node.board.summary().count == 0);
    const auto backwards = must(node.service->test({MempoolNode::decode(b), MempoolNode::decode(a)}));
    CHECK(backwards.text() == "package-not-sorted");
    const TransactionSpec conflict = pay({node.coinbase(0)}, kReward - 5 * kFee);
    CHECK(must(node.service->test({MempoolNode::decode(a), MempoolNode::decode(conflict)})).text() ==
          "conflict-in-package");
}

TEST_CASE("a child pays for a parent of low fee, and together they replace others") {
    Funded node;
    const auto v3 = [](TransactionSpec spec) {
        spec.version = 3;
        return spec;
    };
    const TransactionSpec parent = v3(pay({node.coinbase(0)}, kReward));
    const TransactionSpec child = v3(pay({output_of(parent)}, kReward - kFee));
    CHECK(node.submit(parent) == "min relay fee not met, 0 < 94");
    static_cast<void>(node.mempool_events());
    const auto taken = must(node.service->submit_package(
        {MempoolNode::decode(parent), MempoolNode::decode(child)}, std::nullopt));
    CHECK(taken.state == PackageOutcome::State::ok);
    CHECK(node.mempool_events() == "A1 A2");
    const auto& outcome = taken.outcomes.at(MempoolNode::decode(parent)->wtxid());
    CHECK(outcome.judged_with.size() == 2);
    CHECK(outcome.effective_rate == FeeRate::of(kFee, 2 * 94));

    const TransactionSpec parent2 = v3(pay({node.coinbase(0)}, kReward - 1));
    const TransactionSpec child2 = v3(pay({output_of(parent2)}, kReward - 5 * kFee));
    const auto replaced = must(node.service->submit_package(
        {MempoolNode::decode(parent2), MempoolNode::decode(child2)}, std::nullopt));
    CHECK(replaced.text() == "");
    CHECK(node.mempool_events() == "R3 R4 A5 A6");
    CHECK(node.has(child2));
    CHECK_FALSE(node.has(parent));
    const auto again = must(node.service->submit_package(
        {MempoolNode::decode(parent2), MempoolNode::decode(child2)}, std::nullopt));
    CHECK(again.outcomes.at(MempoolNode::decode(child2)->wtxid()).kind ==
          TransactionOutcome::Kind::already_there);
}
