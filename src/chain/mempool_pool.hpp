// SPDX-License-Identifier: MIT
#pragma once

#include "chain/mempool_follower.hpp"
#include "chain/mempool_graph.hpp"
#include "chain/mempool_options.hpp"

#include <blockpub/events.hpp>
#include <blockpub/hash.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace blockpub {

/// Why transactions leave the mempool. For a block's sake they do so silently.
enum class MempoolRemoval : std::uint8_t { block, conflict, reorg, replaced, expiry, size_limit };

/// The mempool's contents, its numbering of all additions and removals, and the fee below which nothing is
/// taken while it is full.
///
/// Every addition and every removal raises the sequence, those for a block's sake too, which are not told.
/// Thread safety: chain thread only.
/// Ownership: borrows what the options point to.
/// Source: Bitcoin Core v28.1 src/txmempool.cpp.
class MempoolPool {
 public:
    explicit MempoolPool(const MempoolOptions& options) : options_(options) {}

    [[nodiscard]] const MempoolOptions& options() const { return options_; }
    [[nodiscard]] MempoolGraph& graph() { return graph_; }
    [[nodiscard]] const MempoolGraph& graph() const { return graph_; }
    /// The number of the next event.
    [[nodiscard]] MempoolSequence sequence() const { return next_sequence_; }

    /// Adds an entry and tells of it later, by `announce`.
    MempoolEntry& add(std::unique_ptr<MempoolEntry> entry, const MempoolEntrySet& ancestors);
    void announce(const TransactionRef& transaction);
    /// Removes exactly these. Requires: for any cause but a block, all that depends on them is among them.
    void remove(const MempoolEntrySet& entries, MempoolRemoval cause);
    /// Removes a transaction, or where it is not here what spends it, with all that depends on those.
    void remove_with_descendants(const MempoolTransaction& transaction, MempoolRemoval cause);
    /// Removes all that spends what the block's transaction spends, but for itself.
    void remove_conflicts(const TransactionView& transaction, const Txid& txid);
    /// Removes what has been here too long, then what is worth least until the rest fits.
    void limit_size();

    /// The fee rate below which nothing is taken: 0 when there has long been room.
    [[nodiscard]] FeeRate min_fee();
    /// Whether that rate waits for a block, or falls.
    [[nodiscard]] bool has_risen() const { return rolling_minimum_ != 0; }
    /// The minimum fee may fall from here on.
    void block_connected();
    [[nodiscard]] std::size_t memory() const { return graph_.memory(); }

    /// What prioritising adds to a transaction's fee, here or not yet; adds up, to all money at most.
    void prioritise(const Txid& txid, Amount delta);
    [[nodiscard]] Amount delta_of(const Txid& txid) const;
    [[nodiscard]] const std::map<Txid, Amount>& deltas() const { return deltas_; }
    void clear_prioritisation(const Txid& txid);
    /// Those that have changed since the last call; 0: none any more.
    [[nodiscard]] std::map<Txid, Amount> take_delta_changes();

    /// Transactions of ours that no peer has asked for yet.
    void add_unbroadcast(const Txid& txid);
    [[nodiscard]] const std::set<Txid>& unbroadcast() const { return unbroadcast_; }

    /// What happened since the last call, in order.
    [[nodiscard]] std::vector<MempoolEvent> take_events();
    /// Ids whose mark as unbroadcast has changed since the last call.
    [[nodiscard]] std::set<Txid> take_unbroadcast_changes();

 private:
    [[nodiscard]] MempoolSequence take_sequence();
    void expire(std::int64_t before);
    void remove_unbroadcast(const Txid& txid);
    void note_removed_rate(FeeRate rate);

    const MempoolOptions options_;
    MempoolGraph graph_;
    std::vector<MempoolEvent> events_;
    MempoolSequence next_sequence_{1};
    std::uint64_t arrivals_ = 0;
    std::map<Txid, Amount> deltas_;
    std::set<Txid> delta_changes_;
    std::set<Txid> unbroadcast_;
    std::set<Txid> unbroadcast_changes_;
    double rolling_minimum_ = 0;  // satoshi for 1,000 virtual bytes
    std::int64_t rolling_updated_ = 0;
    bool block_since_rise_ = false;
};

}  // namespace blockpub
