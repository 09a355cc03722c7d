// SPDX-License-Identifier: MIT
#include "source/p2p_transactions.hpp"

#include "base/mutex.hpp"
#include "support/eventually.hpp"
#include "support/mempool_node.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace blockpub;
using namespace blockpub::test;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("source.p2p_transactions");

namespace {

constexpr std::uint32_t kAlice = 1;
constexpr std::uint32_t kBob = 2;
constexpr Amount kFee = 10'000;
constexpr Amount kReward = 50 * kCoin;

using Hash = Hash256<InventoryTag>;

/// What is wanted of the peers, kept.
class RecordingPeers final : public TransactionFeedHost {
 public:
    void send_inventory(std::uint32_t peer, std::string_view message,
                        const std::vector<InventoryItem>& items) override {
        for (const InventoryItem& item : items) said[{peer, std::string(message)}].push_back(item);
        ++messages;
    }
    void send_transaction(std::uint32_t peer, const SharedBytes& raw) override {
        sent[peer].push_back(raw);
        unsent_bytes[peer] += raw.size();
    }
    std::size_t unsent(std::uint32_t peer) const override {
        const auto found = unsent_bytes.find(peer);
        return found == unsent_bytes.end() ? 0 : found->second;
    }
    void drop_peer(std::uint32_t peer, const std::string& reason) override { dropped[peer] = reason; }
    bool by_wtxid(std::uint32_t peer) const override { return !old.contains(peer); }

    /// What a peer has been told by one kind of message since the last call.
    std::vector<InventoryItem> take(std::uint32_t peer, const std::string& message) {
        return std::exchange(said[{peer, message}], {});
    }

    std::map<std::pair<std::uint32_t, std::string>, std::vector<InventoryItem>> said;
    std::size_t messages = 0;  ///< of inventory
    std::map<std::uint32_t, std::vector<SharedBytes>> sent;
    std::map<std::uint32_t, std::size_t> unsent_bytes;
    std::map<std::uint32_t, std::string> dropped;
    std::set<std::uint32_t> old;  ///< that speak of txids
};

/// What other threads hand to the network's thread, which here is the test's.
class Desk {
 public:
    PeerNetwork::Poster poster() {
        return [this](std::function<void()> work) {
            const MutexLock lock(mutex_);
            posted_.push_back(std::move(work));
        };
    }
    void run() {
        while (true) {
            std::function<void()> work;
            {
                const MutexLock lock(mutex_);
                if (posted_.empty()) return;
                work = std::move(posted_.front());
                posted_.pop_front();
            }
            work();
        }
    }

 private:
    Mutex mutex_;
    std::deque<std::function<void()>> posted_ BLOCKPUB_GUARDED_BY(mutex_);
};

/// Two peers and a mempool, on a chain whose coinbases may be spent.
struct Relay {
    explicit Relay(std::chrono::milliseconds patience = 60s)
        : feed(host, desk.poster(), *node.service, Log{}, patience) {
        node.mine(130);
        feed.peer_ready(kAlice);
        feed.peer_ready(kBob);
    }
    // What the chain thread still has of the feed is posted before the feed ends.
    ~Relay() { node.chain->stop(); }

    [[nodiscard]] TransactionSpec coin(std::size_t block, Amount fee = kFee) const {
        return pay({node.coinbase(block)}, kReward - fee);
    }
    void receive(std::uint32_t peer, const TransactionSpec& spec) {
        REQUIRE(feed.received(peer, SharedBytes::copy_of(spec.build())).has_value());
    }
    template <class Condition>
    bool comes_true(Condition&& condition) {
        return eventually([&] {
            desk.run();
            return condition();
        });
    }
    /// All that has been received, fewer than two batches, has been looked at by then.
    void settle() {
        for (int batch = 0; batch < 2; ++batch) {
            desk.run();
            // Behind what the chain thread has been handed.
            static_cast<void>(must(node.service->accept(MempoolNode::decode(coin(20, 0)))));
            desk.run();
        }
    }

    MempoolNode node;
    RecordingPeers host;
    Desk desk;
    TransactionFeed feed;
};

InventoryItem by_wtxid(const TransactionSpec& spec) {
    return {InventoryItem::witness_transaction, Hash(MempoolNode::decode(spec)->wtxid().wire_bytes())};
}

InventoryItem by_txid(const Txid& txid) {
    return {InventoryItem::transaction | InventoryItem::witness_flag, Hash(txid.wire_bytes())};
}

std::vector<InventoryItem> all_of(const InventoryItem& item, std::size_t count) {
    return std::vector<InventoryItem>(count, item);
}

/// A transaction of some 86 kB.
TransactionSpec large(const Outpoint& from) {
    return pay({from}, 1000, 2000);
}

}  // namespace

TEST_CASE("a transaction that two peers announce is asked of one, and let in once") {
    Relay relay;
    const TransactionSpec paid = relay.coin(0);
    relay.feed.announced(kAlice, {by_wtxid(paid)});
    relay.feed.announced(kBob, {by_wtxid(paid)});
    CHECK(relay.host.take(kAlice, "getdata") == std::vector{by_wtxid(paid)});
    CHECK(relay.host.take(kBob, "getdata").empty());
    relay.receive(kAlice, paid);
    CHECK(relay.comes_true([&] { return relay.node.has(paid); }));
    relay.settle();
    relay.feed.announced(kBob, {by_wtxid(paid)});
    CHECK(relay.host.take(kBob, "getdata").empty());
    CHECK(relay.host.dropped.empty());
}

TEST_CASE("what the peer that was asked does not have is asked of the next") {
    Relay relay;
    const TransactionSpec one = relay.coin(0);
    const TransactionSpec two = relay.coin(1);
    relay.feed.announced(kAlice, {by_wtxid(one), by_wtxid(two)});
    relay.feed.announced(kBob, {by_wtxid(one), by_wtxid(two)});
    CHECK(relay.host.take(kAlice, "getdata").size() == 2);
    const std::size_t messages = relay.host.messages;
    relay.feed.lacking(kAlice, {by_wtxid(one), by_wtxid(two)});
    CHECK(relay.host.messages == messages + 1);  // asked for together
    CHECK(relay.host.take(kBob, "getdata") == std::vector{by_wtxid(one), by_wtxid(two)});
    relay.feed.lacking(kBob, {by_wtxid(one)});
    relay.feed.peer_lost(kBob);
    CHECK(relay.host.take(kAlice, "getdata").empty());  // it has said that it has neither
}

TEST_CASE("many words about what was never asked for ask nobody anything") {
    Relay relay;
    for (std::size_t i = 0; i < 10; ++i) relay.feed.announced(kBob, {by_wtxid(relay.coin(i))});
    CHECK(relay.host.take(kBob, "getdata").size() == 10);
    relay.feed.lacking(kAlice, all_of(by_wtxid(relay.coin(0)), kMaxInventory));
    CHECK(relay.host.take(kBob, "getdata").empty());
    CHECK(relay.host.take(kAlice, "getdata").empty());
}

TEST_CASE("a child waits for its parent, which is asked of who sent the child") {
    Relay relay;
    const TransactionSpec parent = relay.coin(0);
    const TransactionSpec child = pay({output_of(parent)}, kReward - 2 * kFee);
    relay.receive(kBob, child);
    REQUIRE(relay.comes_true([&] { return !relay.host.said[{kBob, "getdata"}].empty(); }));
    CHECK(relay.host.take(kBob, "getdata") == std::vector{by_txid(parent.txid())});
    CHECK_FALSE(relay.node.has(child));
    // Another peer's word of the child asks for nothing.
    relay.feed.announced(kAlice, {by_wtxid(child)});
    CHECK(relay.host.take(kAlice, "getdata").empty());
    relay.receive(kBob, parent);
    CHECK(relay.comes_true([&] { return relay.node.has(child); }));
    CHECK(relay.node.has(parent));
}

TEST_CASE("a child of a refused parent is refused with it, until the tip moves") {
    Relay relay;
    const TransactionSpec parent = relay.coin(0, 0);  // pays nothing
    const TransactionSpec child = pay({output_of(parent)}, kReward - kFee);
    relay.receive(kAlice, parent);
    relay.settle();
    REQUIRE_FALSE(relay.node.has(parent));
    relay.feed.announced(kBob, {by_wtxid(parent)});
    CHECK(relay.host.take(kBob, "getdata").empty());
    relay.receive(kBob, child);
    relay.settle();
    CHECK(relay.host.take(kBob, "getdata").empty());
    CHECK(relay.host.dropped.empty());
    relay.feed.tip_changed();
    relay.feed.announced(kBob, {by_wtxid(parent)});
    CHECK(relay.host.take(kBob, "getdata") == std::vector{by_wtxid(parent)});
}

TEST_CASE("a transaction that can never be valid ends its peer, one that is refused does not") {
    Relay relay;
    relay.receive(kAlice, relay.coin(9, 0));
    const TransactionSpec greedy = pay({relay.node.coinbase(10)}, kReward + kCoin);
    relay.receive(kBob, greedy);
    REQUIRE(relay.comes_true([&] { return !relay.host.dropped.empty(); }));
    CHECK(relay.host.dropped.size() == 1);
    CHECK(relay.host.dropped[kBob].find("it sent transaction " + greedy.txid().display_hex() +
                                        ", which is invalid: bad-txns-in-belowout") == 0);
    const auto garbage = relay.feed.received(kAlice, SharedBytes::copy_of(Bytes{1, 2, 3}));
    REQUIRE_FALSE(garbage.has_value());
    CHECK(garbage.error().code == Errc::corrupt);
}

TEST_CASE("a client's transaction is announced to each peer, and is in the mempool when one gives it back") {
    Relay relay;
    relay.host.old.insert(kBob);
    const TransactionSpec paid = relay.coin(0);
    REQUIRE(relay.feed.outgoing().hand_out(MempoolNode::decode(paid)).has_value());
    relay.desk.run();
    CHECK(relay.host.take(kAlice, "inv") == std::vector{by_wtxid(paid)});
    CHECK(relay.host.take(kBob, "inv") ==
          std::vector{InventoryItem{InventoryItem::transaction, Hash(paid.txid().wire_bytes())}});
    relay.feed.wanted(kAlice, {by_wtxid(paid), by_wtxid(paid), by_wtxid(relay.coin(1))});
    REQUIRE(relay.host.sent[kAlice].size() == 1);
    CHECK(relay.host.take(kAlice, "notfound") == std::vector{by_wtxid(relay.coin(1))});
    CHECK_FALSE(relay.node.has(paid));
    // It is asked for what it has fetched.
    relay.feed.tick(std::chrono::steady_clock::now() + 2s);
    CHECK(relay.host.take(kAlice, "getdata") == std::vector{by_wtxid(paid)});
    CHECK(relay.host.take(kBob, "getdata").empty());
    relay.receive(kAlice, paid);
    CHECK(relay.comes_true([&] { return relay.node.has(paid); }));
    relay.settle();
    CHECK_FALSE(relay.feed.outgoing().is_on_its_way(paid.txid()));
}

TEST_CASE("a peer that asks for everything at once is sent it as fast as it takes it") {
    Relay relay;
    std::vector<InventoryItem> items;
    for (std::size_t i = 0; i < 100; ++i) {
        const TransactionSpec spec =
            large({.txid = relay.node.coinbase(0).txid, .position = static_cast<std::uint32_t>(i)});
        REQUIRE(relay.feed.outgoing().hand_out(MempoolNode::decode(spec)).has_value());
        items.push_back(by_wtxid(spec));
    }
    relay.desk.run();
    const std::size_t one = MempoolNode::decode(large(relay.node.coinbase(0)))->raw().size();
    const auto& sent = relay.host.sent[kAlice];
    relay.feed.wanted(kAlice, items);
    REQUIRE_FALSE(sent.empty());
    CHECK(relay.host.unsent(kAlice) < 1'000'000 + one);
    CHECK(sent.size() < items.size());
    // Asking again makes it no more.
    relay.feed.wanted(kAlice, items);
    CHECK(relay.host.unsent(kAlice) < 1'000'000 + one);
    std::size_t most = 0;
    for (int i = 0; i < 100; ++i) {
        most = std::max(most, relay.host.unsent(kAlice));
        relay.host.unsent_bytes[kAlice] = 0;
        relay.feed.drained(kAlice);
    }
    CHECK(most < 1'000'000 + one);
    // Those that were sent before it asked again come twice.
    std::set<ByteSpan::pointer> distinct;
    for (const SharedBytes& raw : sent) distinct.insert(raw.bytes().data());
    CHECK(distinct.size() == items.size());
    CHECK(sent.size() < 2 * items.size());
}

TEST_SUITE_END();
