// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "chain/mempool_rows.hpp"
#include "chain/services.hpp"

#include <blockpub/events.hpp>
#include <blockpub/store.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace blockpub {

/// The mempool as a whole; a copy of one moment.
struct MempoolSummary {
    Tip tip;  ///< the contents fit the chain of this tip
    bool loaded = false;
    std::uint64_t count = 0;
    std::int64_t vsize = 0;
    std::uint64_t memory = 0;
    std::uint64_t max_memory = 0;
    Amount total_fee = 0;
    FeeRate min_fee;
    FeeRate min_relay;
    FeeRate incremental;
    std::uint64_t unbroadcast = 0;
    bool full_replacement = true;
    MempoolSequence next_sequence{1};  ///< of the next addition or removal
};

/// A transaction whose fee counts for more or less than it is.
struct PrioritisedTransaction {
    Txid txid;
    Amount delta = 0;
    std::optional<Amount> modified_fee;  ///< where it is in the mempool
};

/// The mempool as it is shown to readers. The chain thread hands in what a step or a transaction has changed,
/// all of it at once: no reader sees half of a change, and none needs the chain lock. Nor does a reader hold
/// the chain thread up: what it hands in while somebody reads is applied by whoever reads next.
///
/// Thread safety: every method from any thread; publish from one at a time.
/// Blocking: readers on one another, for look-ups and copies alone. publish for as long as it takes to
/// append, unless more rows wait to be applied than are worth their memory.
class MempoolBoard final : public MempoolCoinView {
 public:
    /// What has changed since the last one, and the new summary.
    struct Update {
        std::vector<MempoolRow> rows;
        std::set<Txid> gone;
        std::map<Txid, Amount> deltas;  ///< by which prioritising changes fees from now on; 0: not any more
        MempoolSummary summary;
    };
    void publish(Update update) BLOCKPUB_EXCLUDES(rows_mutex_, news_mutex_);

    [[nodiscard]] MempoolSummary summary() const BLOCKPUB_EXCLUDES(news_mutex_);
    struct All {
        std::vector<MempoolRow> rows;
        std::map<Txid, Amount> deltas;  ///< of prioritising, also of what is not here
        MempoolSequence next_sequence;
    };
    /// Every transaction, in no order. `visit` must not wait, nor come back here.
    void visit(const std::function<void(const TransactionRef&)>& visit) const
        BLOCKPUB_EXCLUDES(rows_mutex_, news_mutex_);
    /// Every row, in bitcoind's order of listing: parents before children.
    [[nodiscard]] All all() const BLOCKPUB_EXCLUDES(rows_mutex_, news_mutex_);
    [[nodiscard]] std::vector<MempoolRowDetails> all_details() const
        BLOCKPUB_EXCLUDES(rows_mutex_, news_mutex_);
    [[nodiscard]] std::optional<MempoolRow> find(const Txid& txid) const
        BLOCKPUB_EXCLUDES(rows_mutex_, news_mutex_);
    [[nodiscard]] std::optional<MempoolRow> find(const Wtxid& wtxid) const
        BLOCKPUB_EXCLUDES(rows_mutex_, news_mutex_);
    [[nodiscard]] std::optional<MempoolRowDetails> details(const Txid& txid) const
        BLOCKPUB_EXCLUDES(rows_mutex_, news_mutex_);
    /// All that it depends on, or that depends on it, by txid, without itself; nothing when it is not here.
    [[nodiscard]] std::optional<std::vector<MempoolRowDetails>> ancestors(const Txid& txid) const
        BLOCKPUB_EXCLUDES(rows_mutex_, news_mutex_);
    [[nodiscard]] std::optional<std::vector<MempoolRowDetails>> descendants(const Txid& txid) const
        BLOCKPUB_EXCLUDES(rows_mutex_, news_mutex_);
    /// What is prioritised, by txid.
    [[nodiscard]] std::vector<PrioritisedTransaction> prioritised() const
        BLOCKPUB_EXCLUDES(rows_mutex_, news_mutex_);
    /// The transaction that spends each output; nothing where none does.
    [[nodiscard]] std::vector<std::optional<Txid>> spenders(const std::vector<Outpoint>& outpoints) const
        BLOCKPUB_EXCLUDES(rows_mutex_, news_mutex_);
    [[nodiscard]] MempoolCoin look_up(const Outpoint& outpoint) const override
        BLOCKPUB_EXCLUDES(rows_mutex_, news_mutex_);

 private:
    using Family = std::set<Txid> (MempoolRows::*)(const MempoolRow&) const;
    [[nodiscard]] std::optional<std::vector<MempoolRowDetails>> family(const Txid& txid, Family which) const
        BLOCKPUB_EXCLUDES(rows_mutex_, news_mutex_);

    /// Applies what was handed in since the last time.
    void catch_up() const BLOCKPUB_REQUIRES(rows_mutex_) BLOCKPUB_EXCLUDES(news_mutex_);

    // Held while rows are read; taken before news_mutex_.
    mutable Mutex rows_mutex_;
    mutable MempoolRows rows_ BLOCKPUB_GUARDED_BY(rows_mutex_);
    mutable std::map<Txid, Amount> deltas_ BLOCKPUB_GUARDED_BY(rows_mutex_);
    mutable MempoolSequence rows_sequence_ BLOCKPUB_GUARDED_BY(rows_mutex_){
        1};  // of what comes after the rows

    mutable Mutex news_mutex_;
    mutable std::vector<Update> news_ BLOCKPUB_GUARDED_BY(news_mutex_);  // oldest first
    mutable std::size_t news_rows_ BLOCKPUB_GUARDED_BY(news_mutex_) = 0;
    MempoolSummary summary_ BLOCKPUB_GUARDED_BY(news_mutex_);
};

}  // namespace blockpub
