// SPDX-License-Identifier: MIT
#include "store/snapshot.hpp"

#include "store/merged_scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

namespace blockpub {
namespace {

std::unexpected<Error> table_failed(int code, const char* table) {
    return std::unexpected(lmdb::make_error(code, fmt::format("table {}", table)));
}

}  // namespace

Result<std::unique_ptr<Snapshot::Impl>> Snapshot::Impl::take(ChainTables& tables,
                                                             const SnapshotCell<LayerStack>& cell) {
    auto reading = tables.begin_read();
    if (!reading) return forward_error(reading);
    for (;;) {
        auto layers = cell.load();
        // Equal or newer: all that the layers before these held is in the transaction. That it may hold these
        // layers too does no harm, since they are absolute values.
        if (reading->txn.id() >= layers->base_txnid)
            return std::make_unique<Impl>(std::move(*reading), std::move(layers));
        const std::uint64_t before = reading->txn.id();
        if (auto renewed = tables.renew(*reading); !renewed) return forward_error(renewed);
        if (reading->txn.id() == before) {
            return fail(Errc::corrupt,
                        fmt::format("the chain tables are at commit {}, after {} had been seen", before,
                                    layers->base_txnid));
        }
    }
}

Result<void> Snapshot::Impl::scan_headers(
    const std::function<Result<void>(const BlockHash&, const HeaderRecord&)>& visit) const {
    const auto merged = layers->merged();
    const auto above = [&](const BlockHash& hash, const HeaderRecord& record) -> Result<bool> {
        if (auto visited = visit(hash, record); !visited) return forward_error(visited);
        return true;
    };
    const auto below = [&](const BlockHash& hash, ByteSpan value) -> Result<bool> {
        auto record = decode_header_record(value);
        if (!record) return forward_error(record);
        return above(hash, *record);
    };
    const auto entries = merged ? merged->headers.entries() : decltype(merged->headers.entries()){};
    return merged_scan<BlockHash, HeaderRecord>(reading.txn, reading.env->header, "table header", {}, entries,
                                                decode_hash, below, above);
}

Result<void> Snapshot::Impl::scan_meta(
    std::string_view prefix,
    const std::function<Result<void>(std::string_view, std::string_view)>& visit) const {
    using Entries = std::span<const FlatTable<std::string, std::optional<std::string>>::Entry>;
    const auto merged = layers->merged();
    Entries entries = merged ? merged->meta.entries() : Entries{};
    entries = {std::ranges::lower_bound(entries, prefix, {},
                                        [](const auto& entry) { return std::string_view(entry.key); }),
               entries.end()};
    const auto below = [&](const std::string& key, ByteSpan value) -> Result<bool> {
        if (!key.starts_with(prefix)) return false;
        if (key.starts_with('.')) return true;  // the store's own
        if (auto visited = visit(key, lmdb::as_text(value)); !visited) return forward_error(visited);
        return true;
    };
    const auto above = [&](const std::string& key, const std::optional<std::string>& value) -> Result<bool> {
        if (!value) return key.starts_with(prefix);
        return below(key, lmdb::as_bytes(*value));
    };
    const auto decode_key = [](ByteSpan bytes) -> Result<std::string> {
        return std::string(lmdb::as_text(bytes));
    };
    return merged_scan<std::string, std::optional<std::string>>(reading.txn, reading.env->meta, "table meta",
                                                                lmdb::as_bytes(prefix), entries, decode_key,
                                                                below, above);
}

Snapshot::Snapshot(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Snapshot::Snapshot(Snapshot&&) noexcept = default;
Snapshot& Snapshot::operator=(Snapshot&&) noexcept = default;
Snapshot::~Snapshot() = default;

Result<HeaderRecord> Snapshot::header(const BlockHash& hash) const {
    if (const HeaderRecord* found = impl_->layers->find(&Layer::headers, hash)) return *found;
    ByteSpan value;
    const int code = impl_->reading.txn.get(impl_->reading.env->header, hash.wire_bytes(), value);
    if (code != 0) return table_failed(code, "header");
    return decode_header_record(value);
}

Result<BlockHash> Snapshot::active(Height height) const {
    if (const auto* found = impl_->layers->find(&Layer::active, height)) {
        if (*found) return **found;
        return table_failed(MDB_NOTFOUND, "active");
    }
    ByteSpan value;
    const int code = impl_->reading.txn.get(impl_->reading.env->active, encode_height_key(height), value);
    if (code != 0) return table_failed(code, "active");
    return decode_hash(value);
}

Result<Tip> Snapshot::tip() const {
    const auto& layers = impl_->layers->layers;
    for (std::size_t i = layers.size(); i-- > 0;) {
        if (layers[i]->tip) return *layers[i]->tip;
    }
    ByteSpan value;
    const int code = impl_->reading.txn.get(impl_->reading.env->meta, lmdb::as_bytes(kMetaTip), value);
    if (code != 0) return table_failed(code, "meta");
    return decode_tip(value);
}

Result<std::vector<BlockHash>> Snapshot::tips() const {
    // From the newest on: the first word on a hash counts.
    std::map<BlockHash, bool> tips;
    const auto& layers = impl_->layers->layers;
    for (std::size_t i = layers.size(); i-- > 0;) {
        for (const auto& [hash, present] : layers[i]->tips.entries()) tips.try_emplace(hash, present);
    }
    auto [code, cursor] = lmdb::Cursor::open(impl_->reading.txn, impl_->reading.env->tips);
    ByteSpan key;
    ByteSpan value;
    if (code == 0) code = cursor.move(MDB_FIRST, key, value);
    for (; code == 0; code = cursor.move(MDB_NEXT, key, value)) {
        auto hash = decode_hash(key);
        if (!hash) return forward_error(hash);
        tips.try_emplace(*hash, true);
    }
    if (code != MDB_NOTFOUND) return table_failed(code, "tips");
    std::vector<BlockHash> present;
    for (const auto& [hash, is_tip] : tips) {
        if (is_tip) present.push_back(hash);
    }
    return present;
}

Result<std::vector<EventRecord>> Snapshot::events(EventIndex first, std::size_t limit) const {
    auto records = read_event_table(impl_->reading, first, std::numeric_limits<EventIndex>::max(), limit);
    if (!records) return records;
    EventIndex next = first + records->size();
    // The transaction may hold what a layer holds too.
    for (const auto& layer : impl_->layers->layers) {
        if (layer->events.empty()) continue;
        const EventIndex begin = layer->events.front().index;
        const EventIndex end = begin + layer->events.size();
        for (; next >= begin && next < end && records->size() < limit; ++next)
            records->push_back(layer->events[next - begin]);
    }
    return records;
}

Result<EventIndex> Snapshot::next_event() const {
    const auto& layers = impl_->layers->layers;
    for (std::size_t i = layers.size(); i-- > 0;) {
        if (!layers[i]->events.empty()) return layers[i]->events.back().index + 1;
    }
    return next_event_of_table(impl_->reading);
}

Result<std::string> Snapshot::meta(std::string_view key) const {
    if (const auto* found = impl_->layers->find(&Layer::meta, key)) {
        if (*found) return **found;
        return table_failed(MDB_NOTFOUND, "meta");
    }
    // LMDB answers an empty key with an error of its own.
    if (key.empty()) return table_failed(MDB_NOTFOUND, "meta");
    ByteSpan value;
    const int code = impl_->reading.txn.get(impl_->reading.env->meta, lmdb::as_bytes(key), value);
    if (code != 0) return table_failed(code, "meta");
    return std::string(lmdb::as_text(value));
}

Result<std::vector<EventRecord>> read_event_table(const ChainTables::Reading& reading, EventIndex first,
                                                  EventIndex end, std::size_t limit) {
    std::vector<EventRecord> records;
    if (limit == 0 || first >= end) return records;
    auto [code, cursor] = lmdb::Cursor::open(reading.txn, reading.env->event);
    const auto from = encode_index_key(first);
    ByteSpan key = from;
    ByteSpan value;
    if (code == 0) code = cursor.move(MDB_SET_RANGE, key, value);
    for (; code == 0; code = cursor.move(MDB_NEXT, key, value)) {
        auto index = decode_index_key(key);
        if (!index) return forward_error(index);
        if (*index >= end) return records;
        if (*index != first + records.size()) {
            return fail(Errc::corrupt,
                        fmt::format("table event: {} follows {}", *index, first + records.size() - 1));
        }
        auto record = decode_event_record(*index, value);
        if (!record) return forward_error(record);
        records.push_back(*std::move(record));
        if (records.size() == limit) return records;
    }
    if (code != MDB_NOTFOUND) return table_failed(code, "event");
    return records;
}

Result<EventIndex> next_event_of_table(const ChainTables::Reading& reading) {
    auto [code, cursor] = lmdb::Cursor::open(reading.txn, reading.env->event);
    ByteSpan key;
    ByteSpan value;
    if (code == 0) code = cursor.move(MDB_LAST, key, value);
    if (code == MDB_NOTFOUND) return EventIndex{0};
    if (code != 0) return table_failed(code, "event");
    auto index = decode_index_key(key);
    if (!index) return forward_error(index);
    return *index + 1;
}

}  // namespace blockpub
