// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "store/records.hpp"

#include <blockpub/events.hpp>
#include <blockpub/hash.hpp>
#include <blockpub/store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace blockpub {

/// An immutable table in memory: absolute values in key order. Where keys can be erased, Value is an optional
/// and empty means "not there, whatever lies below".
///
/// Thread safety: a value; concurrent reads are safe.
template <class Key, class Value>
class FlatTable {
 public:
    struct Entry {
        Key key;
        Value value;
    };

    FlatTable() = default;

    /// Of several changes to one key the last one counts.
    [[nodiscard]] static FlatTable from_changes(std::vector<Entry> changes) {
        std::ranges::stable_sort(changes, std::ranges::less{}, &Entry::key);
        std::size_t kept = 0;
        for (std::size_t i = 0; i < changes.size(); ++i) {
            if (i + 1 < changes.size() && changes[i].key == changes[i + 1].key) continue;
            if (kept != i) changes[kept] = std::move(changes[i]);
            ++kept;
        }
        changes.resize(kept);
        FlatTable table;
        table.entries_ = std::move(changes);
        return table;
    }

    /// What a reader sees who looks into `newer` first.
    [[nodiscard]] static FlatTable merge(const FlatTable& older, const FlatTable& newer) {
        FlatTable table;
        table.entries_.reserve(older.entries_.size() + newer.entries_.size());
        auto from = older.entries_.begin();
        for (const Entry& entry : newer.entries_) {
            while (from != older.entries_.end() && from->key < entry.key) table.entries_.push_back(*from++);
            if (from != older.entries_.end() && from->key == entry.key) ++from;
            table.entries_.push_back(entry);
        }
        table.entries_.insert(table.entries_.end(), from, older.entries_.end());
        return table;
    }

    /// Null when this table says nothing about the key.
    template <class Lookup>
    [[nodiscard]] const Value* find(const Lookup& key) const {
        const auto found =
            std::lower_bound(entries_.begin(), entries_.end(), key,
                             [](const Entry& entry, const Lookup& k) { return entry.key < k; });
        return found != entries_.end() && found->key == key ? &found->value : nullptr;
    }

    [[nodiscard]] std::span<const Entry> entries() const noexcept { return entries_; }

 private:
    std::vector<Entry> entries_;
};

/// What one or more applied changes come to; never altered once readers can see it.
struct Layer {
    FlatTable<BlockHash, HeaderRecord> headers;
    FlatTable<Height, std::optional<BlockHash>> active;
    FlatTable<BlockHash, bool> tips;
    FlatTable<std::string, std::optional<std::string>> meta;
    std::vector<EventRecord> events;  ///< indexes without a gap
    std::optional<Tip> tip;
    std::size_t records = 0;
    std::size_t bytes = 0;

    [[nodiscard]] static Layer from_changes(StoreChanges changes);
    /// Requires: newer's events follow older's.
    [[nodiscard]] static Layer merge(const Layer& older, const Layer& newer);
};

/// A layer as it may be written while blobs from `end` on are not on the disk.
struct SplitLayer {
    std::shared_ptr<const Layer> written;  ///< without the places of undo data and facts from there on
    std::shared_ptr<const Layer> left;     ///< the whole records of those that lack some; null: none does
};
/// Requires: no record names a block from there on.
[[nodiscard]] SplitLayer split_layer(std::shared_ptr<const Layer> layer, const BlobEnd& end);

/// The layers over one commit of the chain tables, the oldest first.
///
/// Each layer has at least twice the records of the next, so that there are a handful however many changes
/// were applied, and a record is copied a logarithmic number of times.
struct LayerStack {
    /// Read transactions with a lower number lack what earlier layers held.
    std::uint64_t base_txnid = 0;
    std::vector<std::shared_ptr<const Layer>> layers;

    [[nodiscard]] LayerStack with(Layer layer) const;
    /// All layers as one; null when there is none.
    [[nodiscard]] std::shared_ptr<const Layer> merged() const;

    /// The newest layer's word on a key of one table: `stack.find(&Layer::headers, hash)`. Null: none has
    /// one.
    template <class Key, class Value, class Lookup>
    [[nodiscard]] const Value* find(FlatTable<Key, Value> Layer::* table, const Lookup& key) const {
        for (std::size_t i = layers.size(); i-- > 0;) {
            if (const Value* value = ((*layers[i]).*table).find(key)) return value;
        }
        return nullptr;
    }
};

/// Holds the newest version of an immutable value.
/// Thread safety: every method from any thread. Blocking: the copy of a pointer.
template <class T>
class SnapshotCell {
 public:
    explicit SnapshotCell(std::shared_ptr<const T> value) : value_(std::move(value)) {}
    [[nodiscard]] std::shared_ptr<const T> load() const BLOCKPUB_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        return value_;
    }
    void store(std::shared_ptr<const T> value) BLOCKPUB_EXCLUDES(mutex_) {
        // The old value is destroyed outside the lock.
        const MutexLock lock(mutex_);
        value_.swap(value);
    }

 private:
    mutable Mutex mutex_;
    std::shared_ptr<const T> value_ BLOCKPUB_GUARDED_BY(mutex_);
};

}  // namespace blockpub
