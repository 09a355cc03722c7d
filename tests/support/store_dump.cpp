// SPDX-License-Identifier: MIT
// Prints what a store of a daemon that is not running holds, as one JSON object:
//
//   store_dump <datadir>/regtest
//   {"tip":{"hash","height"},"active":[hash, …],"events":[[index, "C"|"D"|"P", hash, previous, height, block
//   found], …]}
//
// "block found" is true when the stored bytes are there and their header has the event's hash.
#include "primitives/chain_params.hpp"
#include "primitives/header.hpp"

#include <blockpub/store.hpp>

#include <fmt/core.h>

#include <cstdio>
#include <string>
#include <utility>

namespace blockpub {
namespace {

bool block_is_there(Store& store, const BlockHash& hash) {
    const auto block = store.block_reader().read_block(hash);
    return block && block->size() > BlockHeader::kSize && hash_header(block->bytes()) == hash;
}

char letter_of(BlockEventKind kind) {
    if (kind == BlockEventKind::pruned) return 'P';
    return kind == BlockEventKind::connected ? 'C' : 'D';
}

Result<std::string> dump_events(Store& store, const Snapshot& snapshot) {
    constexpr std::size_t kBatch = 1000;
    std::string out;
    for (EventIndex first = 0;;) {
        const auto events = snapshot.events(first, kBatch);
        if (!events) return std::unexpected(events.error());
        if (events->empty()) return out;
        for (const EventRecord& event : *events) {
            out += fmt::format("{}[{},\"{}\",\"{}\",\"{}\",{},{}]", out.empty() ? "" : ",\n", event.index,
                               letter_of(event.kind), event.hash.display_hex(),
                               event.previous_hash.display_hex(), event.height.value,
                               block_is_there(store, event.hash));
        }
        first = events->back().index + 1;
    }
}

Result<std::string> dump_active(const Snapshot& snapshot, Height tip) {
    std::string out;
    for (Height height{0}; height <= tip; height = height.next()) {
        const auto hash = snapshot.active(height);
        if (!hash) return std::unexpected(hash.error());
        out += fmt::format("{}\"{}\"", out.empty() ? "" : ",\n", hash->display_hex());
    }
    return out;
}

Result<std::string> dump(const char* directory) {
    const ChainParams& params = chain_params(ChainKind::regtest);
    StoreOptions options{
        .directory = directory, .network_magic = params.magic, .genesis_hash = params.genesis_hash};
    options.map_bytes = std::uint64_t{1} << 30;
    auto store = Store::open(std::move(options));
    if (!store) return std::unexpected(store.error());
    const auto snapshot = (*store)->snapshot();
    if (!snapshot) return std::unexpected(snapshot.error());
    const auto tip = snapshot->tip();
    if (!tip) return std::unexpected(tip.error());
    const auto active = dump_active(*snapshot, tip->height);
    if (!active) return std::unexpected(active.error());
    const auto events = dump_events(**store, *snapshot);
    if (!events) return std::unexpected(events.error());
    return fmt::format("{{\"tip\":{{\"hash\":\"{}\",\"height\":{}}},\n\"active\":[{}],\n\"events\":[{}]}}\n",
                       tip->hash.display_hex(), tip->height.value, *active, *events);
}

}  // namespace
}  // namespace blockpub

int main(int argc, char** argv) {
    if (argc != 2) {
        fmt::print(stderr, "usage: store_dump <datadir>/regtest\n");
        return 2;
    }
    const auto text = blockpub::dump(argv[1]);
    if (!text) {
        fmt::print(stderr, "store_dump: {}\n", text.error().context);
        return 1;
    }
    std::fwrite(text->data(), 1, text->size(), stdout);
    return 0;
}
