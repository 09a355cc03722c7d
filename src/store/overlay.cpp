// SPDX-License-Identifier: MIT
#include "store/overlay.hpp"

#include "base/check.hpp"

namespace blockpub {
namespace {

/// FlatTable entries of a list of pairs; `bytes` grows by what they take in memory.
template <class Table, class Pairs>
Table take_pairs(Pairs& pairs, std::size_t& records, std::size_t& bytes) {
    std::vector<typename Table::Entry> entries;
    entries.reserve(pairs.size());
    for (auto& [key, value] : pairs) entries.push_back({std::move(key), std::move(value)});
    records += entries.size();
    bytes += entries.size() * sizeof(typename Table::Entry);
    return Table::from_changes(std::move(entries));
}

}  // namespace

Layer Layer::from_changes(StoreChanges changes) {
    Layer layer;
    for (const auto& [key, value] : changes.meta) layer.bytes += key.size() + (value ? value->size() : 0);
    layer.headers = take_pairs<decltype(layer.headers)>(changes.headers, layer.records, layer.bytes);
    layer.active = take_pairs<decltype(layer.active)>(changes.active, layer.records, layer.bytes);
    layer.tips = take_pairs<decltype(layer.tips)>(changes.tips, layer.records, layer.bytes);
    layer.meta = take_pairs<decltype(layer.meta)>(changes.meta, layer.records, layer.bytes);
    layer.events = std::move(changes.events);
    layer.records += layer.events.size();
    layer.bytes += layer.events.size() * sizeof(EventRecord);
    layer.tip = changes.tip;
    if (layer.tip) {
        layer.records += 1;
        layer.bytes += sizeof(Tip);
    }
    return layer;
}

Layer Layer::merge(const Layer& older, const Layer& newer) {
    BLOCKPUB_CHECK(older.events.empty() || newer.events.empty() ||
                       newer.events.front().index == older.events.back().index + 1,
                   "{} after {}", newer.events.front().index, older.events.back().index);
    Layer layer;
    layer.headers = FlatTable<BlockHash, HeaderRecord>::merge(older.headers, newer.headers);
    layer.active = FlatTable<Height, std::optional<BlockHash>>::merge(older.active, newer.active);
    layer.tips = FlatTable<BlockHash, bool>::merge(older.tips, newer.tips);
    layer.meta = FlatTable<std::string, std::optional<std::string>>::merge(older.meta, newer.meta);
    layer.events.reserve(older.events.size() + newer.events.size());
    layer.events.insert(layer.events.end(), older.events.begin(), older.events.end());
    layer.events.insert(layer.events.end(), newer.events.begin(), newer.events.end());
    layer.tip = newer.tip ? newer.tip : older.tip;
    // An upper bound: what the newer layer covers is counted still.
    layer.records = older.records + newer.records;
    layer.bytes = older.bytes + newer.bytes;
    return layer;
}

SplitLayer split_layer(std::shared_ptr<const Layer> layer, const BlobEnd& end) {
    const auto is_left = [&](const std::optional<BlobPlace>& place) {
        return place && BlobEnd{place->segment, place->number} >= end;
    };
    StoreChanges left;
    Layer written = *layer;
    std::vector<decltype(written.headers)::Entry> records;
    for (const auto& [hash, record] : layer->headers.entries()) {
        BLOCKPUB_CHECK(!is_left(record.block), "block {} is not on the disk", hash.display_hex());
        HeaderRecord& lacking = records.emplace_back(hash, record).value;
        if (!is_left(record.undo) && !is_left(record.facts)) continue;
        if (is_left(record.undo)) lacking.undo.reset();
        if (is_left(record.facts)) lacking.facts.reset();
        left.headers.emplace_back(hash, record);
    }
    if (left.headers.empty()) return {.written = std::move(layer), .left = nullptr};
    written.headers = decltype(written.headers)::from_changes(std::move(records));
    return {.written = std::make_shared<const Layer>(std::move(written)),
            .left = std::make_shared<const Layer>(Layer::from_changes(std::move(left)))};
}

LayerStack LayerStack::with(Layer layer) const {
    LayerStack stack = *this;
    auto top = std::make_shared<const Layer>(std::move(layer));
    while (!stack.layers.empty() && stack.layers.back()->records < 2 * top->records) {
        top = std::make_shared<const Layer>(Layer::merge(*stack.layers.back(), *top));
        stack.layers.pop_back();
    }
    stack.layers.push_back(std::move(top));
    return stack;
}

std::shared_ptr<const Layer> LayerStack::merged() const {
    if (layers.empty()) return nullptr;
    std::shared_ptr<const Layer> all = layers.back();
    for (std::size_t i = layers.size() - 1; i-- > 0;)
        all = std::make_shared<const Layer>(Layer::merge(*layers[i], *all));
    return all;
}

}  // namespace blockpub
