// SPDX-License-Identifier: MIT
#include "store/coin_scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace blockpub {
namespace {

using Visit = std::function<Result<void>(const Outpoint&, const Coin&)>;
using Rows = std::vector<CoinMemtable::Row>;

/// What a reader sees who looks into `newer` first.
Rows merge_rows(Rows older, Rows newer) {
    if (older.empty()) return newer;
    Rows merged;
    merged.reserve(older.size() + newer.size());
    auto from = older.begin();
    for (CoinMemtable::Row& row : newer) {
        while (from != older.end() && from->key < row.key) merged.push_back(std::move(*from++));
        if (from != older.end() && from->key == row.key) ++from;
        merged.push_back(std::move(row));
    }
    std::move(from, older.end(), std::back_inserter(merged));
    return merged;
}

Result<void> visit_encoded(ByteSpan key, ByteSpan encoded, const Visit& visit) {
    const Outpoint outpoint = coin_outpoint(key);
    ByteReader reader(encoded);
    const Coin coin = decode_coin(reader);
    if (!reader.ok() || reader.remaining() != 0) {
        return fail(Errc::corrupt, fmt::format("coins: the coin {}:{} is damaged",
                                               outpoint.txid.display_hex(), outpoint.position));
    }
    return visit(outpoint, coin);
}

/// Walks over the table's rows, in step with rows in memory.
class TableWalk {
 public:
    TableWalk(lmdb::Cursor cursor, int code) : cursor_(std::move(cursor)), code_(code) {}

    /// To the first row of a shard, or of one behind it.
    void enter(std::size_t shard) {
        const auto begin = static_cast<std::uint8_t>(shard);
        key_ = ByteSpan(&begin, 1);
        code_ = cursor_.move(MDB_SET_RANGE, key_, value_);
    }
    void next() { code_ = cursor_.move(MDB_NEXT, key_, value_); }
    [[nodiscard]] bool at_row() const { return code_ == 0; }
    [[nodiscard]] bool failed() const { return code_ != 0 && code_ != MDB_NOTFOUND; }
    [[nodiscard]] int code() const { return code_; }
    [[nodiscard]] ByteSpan key() const { return key_; }
    [[nodiscard]] ByteSpan value() const { return value_; }
    /// Order of the row's key against another.
    [[nodiscard]] std::strong_ordering compare(const CoinKey& other) const {
        return std::lexicographical_compare_three_way(key_.begin(), key_.end(), other.begin(), other.end());
    }

 private:
    lmdb::Cursor cursor_;
    ByteSpan key_;
    ByteSpan value_;
    int code_;
};

}  // namespace

Result<void> scan_coins(const CoinTable::Reading& reading, const CoinMemtable* frozen,
                        const CoinMemtable& active, const CoinLayers& layers, StepNumber step,
                        ShardRange shards, const Visit& visit) {
    auto [code, cursor] = lmdb::Cursor::open(reading.txn, reading.env->coins);
    if (code != 0) return std::unexpected(lmdb::make_error(code, "coins"));
    TableWalk walk(std::move(cursor), code);
    walk.enter(shards.first);
    for (std::size_t shard = shards.first; shard < shards.end; ++shard) {
        Rows rows = merge_rows(frozen != nullptr ? frozen->sorted_shard(shard, step) : Rows{},
                               active.sorted_shard(shard, step));
        for (const auto& layer : layers) rows = merge_rows(std::move(rows), layer->sorted_shard(shard));
        auto row = rows.begin();
        while (true) {
            const bool in_table = walk.at_row() && walk.key()[0] == shard;
            if (!in_table && row == rows.end()) break;
            const auto order = !in_table           ? std::strong_ordering::greater
                               : row == rows.end() ? std::strong_ordering::less
                                                   : walk.compare(row->key);
            if (order < 0) {
                if (auto done = visit_encoded(walk.key(), walk.value(), visit); !done) return done;
                walk.next();
                continue;
            }
            if (!row->encoded.empty()) {
                if (auto done = visit_encoded(row->key, row->encoded, visit); !done) return done;
            }
            ++row;
            if (order == 0) walk.next();
        }
        if (walk.failed()) return std::unexpected(lmdb::make_error(walk.code(), "coins"));
    }
    return {};
}

}  // namespace blockpub
