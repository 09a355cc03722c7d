// SPDX-License-Identifier: MIT
#pragma once

#include "source/p2p_messages.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace blockpub {

/// Which peers have announced which transactions, and which of them was asked.
///
/// Each transaction is asked of one peer at a time; the next one that has announced it is asked when the
/// first does not have it, is gone, or takes too long. What a peer announces beyond its limit is passed over.
/// Thread safety: one thread at a time. Blocking: never.
class TransactionRequests {
 public:
    using Time = std::chrono::steady_clock::time_point;
    using PeerNumber = std::uint32_t;
    using Hash = Hash256<InventoryTag>;

    struct Limits {
        std::size_t announced = 50'000;  ///< by one peer, and not asked of it yet
        std::size_t in_flight = 100;     ///< asked of one peer at a time
        std::chrono::milliseconds patience{60'000};
    };
    explicit TransactionRequests(const Limits& limits) : limits_(limits) {}

    /// `item`: as it is to be asked for.
    void announce(PeerNumber peer, const InventoryItem& item);
    /// What to ask `peer` for now; it counts as asked from here on.
    [[nodiscard]] std::vector<InventoryItem> ask(PeerNumber peer, Time now);
    /// It is here, or not wanted any more: nobody is asked.
    void settle(const Hash& hash);
    /// `peer` does not have it. Result: false when it was not asked for it.
    bool decline(PeerNumber peer, const Hash& hash);
    /// Nothing can be had of `peer` any more.
    void forget(PeerNumber peer);

    [[nodiscard]] bool is_known(const Hash& hash) const { return entries_.contains(hash); }
    [[nodiscard]] std::size_t size() const { return entries_.size(); }
    /// Questions that are remembered for their time, those that are answered among them.
    [[nodiscard]] std::size_t questions() const { return in_flight_.size(); }

 private:
    struct Entry {
        std::vector<PeerNumber> announced_by;  // and not asked of them yet
        std::optional<PeerNumber> asked_of;
        Time since{};
    };
    struct Peer {
        std::deque<InventoryItem> announced;  // those that no longer count are passed over when met
        std::size_t in_flight = 0;
    };
    using Entries = std::unordered_map<Hash, Entry>;

    void expire(Time now);
    void forget_answered();
    [[nodiscard]] bool is_open(const std::pair<Time, Hash>& question) const;
    void release(Entry& entry);
    void drop_if_nobody_has_it(Entries::iterator entry);

    const Limits limits_;
    std::map<PeerNumber, Peer> peers_;
    Entries entries_;
    std::deque<std::pair<Time, Hash>> in_flight_;  // oldest first; likewise
};

}  // namespace blockpub
