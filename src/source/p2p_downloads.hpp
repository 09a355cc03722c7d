// SPDX-License-Identifier: MIT
#pragma once

#include "chain/header_desk.hpp"

#include <blockpub/hash.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace blockpub {

/// Which peers are asked for which blocks, and how long ago.
///
/// A moving window: each peer has a list of what it may be asked for, lowest first; what is on the way from
/// one peer, or on its way through the chain thread, is asked of no other, unless it takes too long and a
/// peer has nothing else to do.
/// Thread safety: one thread at a time. Blocking: never. Units: bytes.
class BlockDownloads {
 public:
    using Time = std::chrono::steady_clock::time_point;
    using PeerNumber = std::uint32_t;

    struct Limits {
        std::size_t least_in_flight = 16;  ///< blocks asked of one peer at a time, however large they are
        std::size_t most_in_flight = 128;  ///< however small
        std::size_t bytes_in_flight = std::size_t{16} << 20;  ///< of one peer, as far as sizes can be guessed
        std::size_t bytes_delivered = std::size_t{32}
                                      << 20;  ///< with the chain thread; beyond, none is asked for
        /// After so long an idle peer is asked as well; sooner where no more than `few` blocks are waited
        /// for.
        std::chrono::milliseconds second_peer{10'000};
        std::chrono::milliseconds second_peer_of_few{2'000};
        std::size_t few = 3;
        std::chrono::milliseconds lacking{5'000};  ///< the first pause after a peer did not have a block
        std::chrono::milliseconds lacking_longest{600'000};
    };
    explicit BlockDownloads(const Limits& limits) : limits_(limits) {}

    /// Replaces what `peer` may be asked for.
    void offer(PeerNumber peer, const std::vector<HeaderDesk::Missing>& missing);
    /// What to ask `peer` for now; it counts as asked from here on.
    [[nodiscard]] std::vector<BlockHash> ask(PeerNumber peer, Time now);
    /// Asks `peer` for one block, beside what it is asked for otherwise. Result: false when it is asked for
    /// it already.
    [[nodiscard]] bool request(PeerNumber peer, const HeaderDesk::Missing& block, Time now);
    /// A block came from `peer`. Result: how long it took; nothing if it was never asked for it.
    [[nodiscard]] std::optional<std::chrono::steady_clock::duration> receive(PeerNumber peer,
                                                                             const BlockHash& hash,
                                                                             std::size_t bytes, Time now);
    /// `peer` does not have it: it is asked again after a pause, which doubles each time.
    /// Result: false when it was not asked for it.
    bool decline(PeerNumber peer, const BlockHash& hash, Time now);
    /// Whether `peer` has declined it, and is not to be asked for it yet.
    [[nodiscard]] bool has_declined(PeerNumber peer, const BlockHash& hash, Time now) const;
    /// The chain thread is done with a block that was received. Requires: offers that it made before came
    /// before.
    void settle(const BlockHash& hash);
    /// Nothing can be had of `peer` any more.
    void forget(PeerNumber peer);

    /// Whether any peer is asked for the block.
    [[nodiscard]] bool is_asked(const BlockHash& hash) const { return asked_of_.contains(hash); }
    /// Whether the block has been received and the chain thread is not done with it.
    [[nodiscard]] bool is_settling(const BlockHash& hash) const { return settling_.contains(hash); }
    [[nodiscard]] std::size_t in_flight(PeerNumber peer) const;
    [[nodiscard]] std::vector<HeaderDesk::Missing> in_flight_of(PeerNumber peer) const;
    /// Since when a block of `peer` is waited for: its last one, or the request. Nothing: none is.
    [[nodiscard]] std::optional<Time> waiting_since(PeerNumber peer) const;
    [[nodiscard]] bool has_offers(PeerNumber peer) const;
    [[nodiscard]] std::size_t bytes_delivered() const { return delivered_bytes_; }
    [[nodiscard]] bool full() const { return delivered_bytes_ >= limits_.bytes_delivered; }
    [[nodiscard]] bool idle() const { return asked_of_.empty() && settling_.empty(); }

 private:
    struct Request {
        Height height;
        Time since;
    };
    struct Lack {
        Time until{};
        std::chrono::milliseconds pause{};
    };
    struct Peer {
        std::deque<HeaderDesk::Missing> offers;
        std::unordered_map<BlockHash, Lack> lacks;  // what it did not have when asked
        std::unordered_map<BlockHash, Request> requests;
        std::uint64_t average_bytes = 0;
        Time last_block{};
    };
    [[nodiscard]] std::size_t quota(const Peer& peer) const;
    [[nodiscard]] static bool pauses(const Peer& peer, const BlockHash& hash, Time now);
    [[nodiscard]] bool may_ask(const Peer& peer, const BlockHash& hash, bool idle_peer, Time now) const;
    void add_request(Peer& peer, const HeaderDesk::Missing& block, Time now);
    void drop_request(Peer& peer, const BlockHash& hash);

    const Limits limits_;
    std::map<PeerNumber, Peer> peers_;
    struct Asked {
        unsigned peers = 0;
        Time since;
    };
    std::unordered_map<BlockHash, Asked> asked_of_;
    std::unordered_map<BlockHash, std::size_t> settling_;  // bytes
    std::size_t delivered_bytes_ = 0;
};

}  // namespace blockpub
