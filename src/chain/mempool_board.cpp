// SPDX-License-Identifier: MIT
#include "chain/mempool_board.hpp"

#include <algorithm>
#include <utility>

namespace blockpub {

namespace {

/// Rows that may wait to be applied, about 20 MB.
constexpr std::size_t kMostNewRows = 100'000;

}  // namespace

void MempoolBoard::publish(Update update) {
    bool too_many = false;
    {
        const MutexLock lock(news_mutex_);
        summary_ = update.summary;
        news_rows_ += update.rows.size() + update.gone.size() + update.deltas.size();
        too_many = news_rows_ > kMostNewRows;
        news_.push_back(std::move(update));
    }
    // Somebody reads: the next reader applies it, and the chain thread goes on.
    if (!rows_mutex_.try_lock()) {
        if (!too_many) return;
        rows_mutex_.lock();
    }
    catch_up();
    rows_mutex_.unlock();
}

void MempoolBoard::catch_up() const {
    std::vector<Update> news;
    {
        const MutexLock lock(news_mutex_);
        news.swap(news_);
        news_rows_ = 0;
    }
    for (Update& update : news) {
        // First what is gone: what came may spend the same coins.
        for (const Txid& txid : update.gone) rows_.take(txid);
        for (MempoolRow& row : update.rows) rows_.put(std::move(row));
        for (const auto& [txid, delta] : update.deltas) {
            if (delta == 0) {
                deltas_.erase(txid);
            } else {
                deltas_.insert_or_assign(txid, delta);
            }
        }
        rows_sequence_ = update.summary.next_sequence;
    }
}

MempoolSummary MempoolBoard::summary() const {
    const MutexLock lock(news_mutex_);
    return summary_;
}

void MempoolBoard::visit(const std::function<void(const TransactionRef&)>& visit) const {
    const MutexLock lock(rows_mutex_);
    catch_up();
    rows_.for_each([&](const MempoolRow& row) { visit(row.transaction); });
}

MempoolBoard::All MempoolBoard::all() const {
    All all;
    {
        const MutexLock lock(rows_mutex_);
        catch_up();
        all.rows.reserve(rows_.size());
        rows_.for_each([&](const MempoolRow& row) { all.rows.push_back(row); });
        all.deltas = deltas_;
        all.next_sequence = rows_sequence_;
    }
    std::ranges::sort(all.rows, is_listed_before);
    return all;
}

std::vector<MempoolRowDetails> MempoolBoard::all_details() const {
    const All listed = all();
    MempoolRows rows;
    for (const MempoolRow& row : listed.rows) rows.put(row);
    std::vector<MempoolRowDetails> details;
    details.reserve(listed.rows.size());
    for (const MempoolRow& row : listed.rows) details.push_back(rows.details(row));
    return details;
}

std::optional<MempoolRow> MempoolBoard::find(const Txid& txid) const {
    const MutexLock lock(rows_mutex_);
    catch_up();
    const MempoolRow* const row = rows_.find(txid);
    if (row == nullptr) return std::nullopt;
    return *row;
}

std::optional<MempoolRow> MempoolBoard::find(const Wtxid& wtxid) const {
    const MutexLock lock(rows_mutex_);
    catch_up();
    const MempoolRow* const row = rows_.find(wtxid);
    if (row == nullptr) return std::nullopt;
    return *row;
}

std::optional<MempoolRowDetails> MempoolBoard::details(const Txid& txid) const {
    const MutexLock lock(rows_mutex_);
    catch_up();
    const MempoolRow* const row = rows_.find(txid);
    if (row == nullptr) return std::nullopt;
    return rows_.details(*row);
}

std::optional<std::vector<MempoolRowDetails>> MempoolBoard::family(const Txid& txid, Family which) const {
    const MutexLock lock(rows_mutex_);
    catch_up();
    const MempoolRow* const row = rows_.find(txid);
    if (row == nullptr) return std::nullopt;
    std::vector<MempoolRowDetails> details;
    for (const Txid& member : (rows_.*which)(*row)) {
        if (const MempoolRow* const found = rows_.find(member)) details.push_back(rows_.details(*found));
    }
    return details;
}

std::optional<std::vector<MempoolRowDetails>> MempoolBoard::ancestors(const Txid& txid) const {
    return family(txid, &MempoolRows::ancestors);
}

std::optional<std::vector<MempoolRowDetails>> MempoolBoard::descendants(const Txid& txid) const {
    return family(txid, &MempoolRows::descendants);
}

std::vector<PrioritisedTransaction> MempoolBoard::prioritised() const {
    std::vector<PrioritisedTransaction> prioritised;
    const MutexLock lock(rows_mutex_);
    catch_up();
    for (const auto& [txid, delta] : deltas_) {
        const MempoolRow* const row = rows_.find(txid);
        prioritised.push_back(
            {.txid = txid,
             .delta = delta,
             .modified_fee = row == nullptr ? std::nullopt : std::optional<Amount>(row->modified_fee)});
    }
    return prioritised;
}

std::vector<std::optional<Txid>> MempoolBoard::spenders(const std::vector<Outpoint>& outpoints) const {
    std::vector<std::optional<Txid>> spenders;
    spenders.reserve(outpoints.size());
    const MutexLock lock(rows_mutex_);
    catch_up();
    for (const Outpoint& outpoint : outpoints) spenders.push_back(rows_.spender(outpoint));
    return spenders;
}

MempoolCoin MempoolBoard::look_up(const Outpoint& outpoint) const {
    const MutexLock lock(rows_mutex_);
    catch_up();
    MempoolCoin coin;
    coin.spent = rows_.spender(outpoint).has_value();
    if (const MempoolRow* const row = rows_.find(outpoint.txid))
        coin.made = row->transaction->output(outpoint.position);
    return coin;
}

}  // namespace blockpub
