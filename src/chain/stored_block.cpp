// SPDX-License-Identifier: MIT
#include "chain/stored_block.hpp"

#include "chain/block_checks.hpp"

#include <fmt/format.h>

#include <utility>

namespace blockpub {

Result<ParsedBlock> read_stored_block(const Store& store, const BlobPlace& place, const BlockHash& hash) {
    auto raw = store.read_blob(place);
    if (!raw) return forward_error(raw);
    auto block = ParsedBlock::parse(std::move(*raw));
    if (!block || block->hash() != hash || !body_matches_header(*block)) {
        return fail(Errc::corrupt, fmt::format("the stored block {} is damaged", hash.display_hex()));
    }
    return block;
}

StoredBlock::StoredBlock(const HeaderNode& node, const Store& store, const ParsedBlock* at_hand)
    : node_(node), store_(store) {
    if (at_hand != nullptr && at_hand->hash() == node.hash) at_hand_ = at_hand;
}

std::int64_t StoredBlock::previous_median_time() const {
    return node_.previous == nullptr ? 0 : node_.previous->median_time_past();
}

Result<const ParsedBlock*> StoredBlock::parsed() {
    if (at_hand_ != nullptr) return at_hand_;
    if (!node_.block.present()) {
        lost_ = true;
        return fail(Errc::unavailable,
                    fmt::format("block {} (height {}) is not here{}", node_.hash.display_hex(),
                                node_.height.value, node_.pruned() ? ": it was pruned" : ""));
    }
    auto block = read_stored_block(store_, *node_.block.place(), node_.hash);
    if (!block) {
        lost_ = block.error().code != Errc::io;
        return forward_error(block);
    }
    at_hand_ = &read_.emplace(std::move(*block));
    return at_hand_;
}

Result<SharedBytes> StoredBlock::undo() {
    const auto place = node_.undo.place();
    if (!place)
        return fail(Errc::not_found, fmt::format("block {} has no undo data", node_.hash.display_hex()));
    return store_.read_blob(*place);
}

Result<void> store_outcome(Store& store, ChainState& state, HeaderNode& node,
                           const CoinsEngine::Connected& connected) {
    const auto keep = [&](const SharedBytes& bytes, PackedPlace& place) -> Result<void> {
        if (bytes.empty() || place.present()) return {};
        const auto appended = store.append_derived(bytes);
        if (!appended) return std::unexpected(appended.error());
        place = PackedPlace(*appended);
        state.changes().touch(node);
        return {};
    };
    if (auto kept = keep(connected.undo, node.undo); !kept) return kept;
    return keep(connected.facts, node.facts);
}

}  // namespace blockpub
