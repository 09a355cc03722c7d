// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "chain/services.hpp"
#include "source/p2p_messages.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace blockpub {

/// Transactions of sendrawtransaction on their way to the nodes that are followed.
///
/// A node does not announce to us what it has from us. So one that has fetched a transaction is asked for it
/// after a while, and again after ever longer ones: that it gives it back says that it has taken it.
/// Thread safety: every method from any thread.
/// Ownership: borrows what `wake` uses.
/// Blocking: never for longer than a look-up takes.
class OutgoingTransactions final : public TransactionSender {
 public:
    using Time = std::chrono::steady_clock::time_point;
    using PeerNumber = std::uint32_t;
    using Hash = Hash256<InventoryTag>;

    struct Limits {
        std::size_t count = 1000;
        std::size_t bytes = 10'000'000;
        std::chrono::hours keep{24};
        std::chrono::milliseconds first_question{1000};
        std::chrono::milliseconds longest_pause{60'000};
    };
    OutgoingTransactions(const Limits& limits, std::function<void()> wake)
        : limits_(limits), wake_(std::move(wake)) {}

    [[nodiscard]] bool is_following() const override BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] Result<void> hand_out(const TransactionRef& transaction) override BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] bool is_on_its_way(const Txid& txid) const override BLOCKPUB_EXCLUDES(mutex_);

    void set_following(bool following) BLOCKPUB_EXCLUDES(mutex_);
    /// Whether any node takes transactions.
    void set_any_taker(bool any) BLOCKPUB_EXCLUDES(mutex_);
    /// What `peer` has not been told of, in the order in which it came; it counts as told from here on.
    [[nodiscard]] std::vector<TransactionRef> tell(PeerNumber peer) BLOCKPUB_EXCLUDES(mutex_);
    /// By txid or wtxid; null when it is not on its way.
    [[nodiscard]] TransactionRef find(const Hash& hash) const BLOCKPUB_EXCLUDES(mutex_);
    /// All that is on its way, in no order.
    [[nodiscard]] std::vector<TransactionRef> all() const BLOCKPUB_EXCLUDES(mutex_);
    /// `peer` has been sent it.
    void fetched(const Txid& txid, PeerNumber peer, Time now) BLOCKPUB_EXCLUDES(mutex_);
    /// What `peer` is to be asked for now.
    [[nodiscard]] std::vector<TransactionRef> questions(PeerNumber peer, Time now) BLOCKPUB_EXCLUDES(mutex_);
    /// A node has it, or it has become pointless.
    void settle(const Txid& txid) BLOCKPUB_EXCLUDES(mutex_);
    void forget(PeerNumber peer) BLOCKPUB_EXCLUDES(mutex_);
    /// Lets go what has been on its way for too long.
    void expire(Time now) BLOCKPUB_EXCLUDES(mutex_);

 private:
    struct Question {
        Time due;
        std::chrono::milliseconds pause;
    };
    struct Entry {
        TransactionRef transaction;
        Time since;
        std::uint64_t order = 0;
        std::set<PeerNumber> told;
        std::map<PeerNumber, Question> questions;
    };
    using Entries = std::unordered_map<Txid, Entry>;
    void erase(Entries::iterator entry) BLOCKPUB_REQUIRES(mutex_);

    const Limits limits_;
    const std::function<void()> wake_;
    mutable Mutex mutex_;
    bool following_ BLOCKPUB_GUARDED_BY(mutex_) = false;
    bool any_taker_ BLOCKPUB_GUARDED_BY(mutex_) = false;
    Entries entries_ BLOCKPUB_GUARDED_BY(mutex_);
    std::unordered_map<Wtxid, Txid> by_wtxid_ BLOCKPUB_GUARDED_BY(mutex_);
    std::size_t bytes_ BLOCKPUB_GUARDED_BY(mutex_) = 0;
    std::uint64_t next_order_ BLOCKPUB_GUARDED_BY(mutex_) = 0;
};

}  // namespace blockpub
