// SPDX-License-Identifier: MIT
#include "query/transaction_lookup.hpp"

#include "primitives/block.hpp"
#include "store/block_lookup.hpp"
#include "store/coin_store.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace blockpub {

namespace {

/// More outputs than any transaction can have: a block's weight by that of the smallest output.
constexpr std::uint32_t kMaxOutputs = 4'000'000 / (4 * 9);

constexpr std::uint32_t kCoinsAtOnce = 4096;

/// Blocks behind the tip that are searched for what the index has not come to yet.
constexpr std::uint32_t kMaxUnindexed = 6;

std::optional<std::size_t> position_of(const FactsView& facts, const Txid& txid) {
    for (std::size_t i = 0; i < facts.count(); ++i) {
        if (std::ranges::equal(facts.txid(i), txid.wire_bytes())) return i;
    }
    return std::nullopt;
}

/// The height of a coin that the transaction made and that is not spent. A snapshot serves for some thousand
/// look-ups: the whole search takes too long for one.
Result<std::optional<Height>> height_of_coin(const CoinStore& store, const Txid& txid,
                                             const std::function<bool()>& given_up) {
    for (std::uint32_t first = 0; first < kMaxOutputs; first += kCoinsAtOnce) {
        if (given_up()) return fail(Errc::stopped, "Nobody waits for the answer");
        const auto coins = store.snapshot();
        if (!coins) return std::unexpected(coins.error());
        const std::uint32_t end = std::min(kMaxOutputs, first + kCoinsAtOnce);
        for (std::uint32_t position = first; position < end; ++position) {
            const auto coin = coins->find({.txid = txid, .position = position});
            if (coin) return std::optional(coin->height);
            if (coin.error().code != Errc::not_found) return std::unexpected(coin.error());
        }
    }
    return std::optional<Height>();
}

/// The newest blocks of the active chain, down to one that is known already and at most so many. Their
/// snapshot ends here: none is held while they are read.
Result<std::vector<std::pair<BlockHash, HeaderRecord>>> blocks_above(const Store& store,
                                                                     const BlockHash& known) {
    auto snapshot = store.snapshot();
    if (!snapshot) return forward_error(snapshot);
    auto tip = snapshot->tip();
    if (!tip) return forward_error(tip);
    std::vector<std::pair<BlockHash, HeaderRecord>> blocks;
    for (std::uint32_t back = 0; back < kMaxUnindexed && back < tip->height.value; ++back) {
        auto hash = snapshot->active({tip->height.value - back});
        if (!hash) return forward_error(hash);
        if (*hash == known) break;
        auto record = snapshot->header(*hash);
        if (!record) return forward_error(record);
        blocks.emplace_back(*hash, *std::move(record));
    }
    return blocks;
}

}  // namespace

Result<std::optional<TransactionInBlock>> find_in_block(const BlockMaterialReader& reader,
                                                        const HeaderView& header, const Txid& txid) {
    if (auto missing = missing_block(header.record)) return std::unexpected(*std::move(missing));
    auto batch = reader.batch();
    auto facts = reader.facts(header.record, batch);
    if (!facts) return forward_error(facts);
    std::optional<std::size_t> position;
    if (*facts) {
        position = position_of((*facts)->view(), txid);
        if (!position) return std::optional<TransactionInBlock>();
    }
    auto raw = reader.raw(header.hash, header.record, batch);
    if (!raw) return forward_error(raw);
    if (position) {
        const std::size_t offset = (*facts)->view().offset(*position);
        const std::size_t size = (*facts)->view().size(*position);
        if (offset > raw->size() || size > raw->size() - offset)
            return fail(Errc::corrupt, "facts of another block");
        return TransactionInBlock{.raw = raw->slice(offset, size), .position = *position};
    }
    const auto block = ParsedBlock::parse(*std::move(raw));
    if (!block) return std::unexpected(block.error());
    const auto& entries = block->transactions();
    const auto found = std::ranges::find(entries, txid, &ParsedBlock::Entry::txid);
    if (found == entries.end()) return std::optional<TransactionInBlock>();
    const auto index = static_cast<std::size_t>(found - entries.begin());
    return TransactionInBlock{.raw = block->raw_transaction(index), .position = index};
}

Result<std::optional<BlockHash>> indexed_block(const RpcContext& context, const Txid& txid) {
    if (context.tx_index == nullptr) return std::optional<BlockHash>();
    // Asked before the look-up: a block that is indexed between the two is then searched once more.
    const Tip seen = context.tx_index->status().best;
    auto indexed = context.tx_index->find(txid);
    if (!indexed || *indexed) return indexed;
    // The index follows the chain on a thread of its own: what it has not seen yet is searched here.
    auto blocks = blocks_above(*context.store, seen.hash);
    if (!blocks) return forward_error(blocks);
    for (const auto& [hash, record] : *blocks) {
        auto facts = context.material->facts(record);
        if (!facts) return forward_error(facts);
        if (*facts && position_of((*facts)->view(), txid)) return std::optional(hash);
    }
    return std::optional<BlockHash>();
}

Result<std::optional<BlockHash>> block_of_any(const RpcContext& context, std::span<const Txid> txids,
                                              const std::function<bool()>& given_up) {
    if (auto indexed = indexed_block(context, txids.front()); !indexed || *indexed) return indexed;
    if (context.coins == nullptr) return std::optional<BlockHash>();
    for (const Txid& txid : txids) {
        auto height = height_of_coin(*context.coins, txid, given_up);
        if (!height) return forward_error(height);
        if (!*height) continue;
        const auto snapshot = context.store->snapshot();
        if (!snapshot) return std::unexpected(snapshot.error());
        auto hash = snapshot->active(**height);
        if (hash) return std::optional(*hash);
        if (hash.error().code != Errc::not_found) return forward_error(hash);
    }
    return std::optional<BlockHash>();
}

}  // namespace blockpub
