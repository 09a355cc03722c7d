// SPDX-License-Identifier: MIT
#include "source/p2p_rebuild.hpp"

#include "base/check.hpp"
#include "primitives/block.hpp"
#include "primitives/compact_size.hpp"
#include "primitives/wire_writer.hpp"

#include <algorithm>
#include <utility>

namespace blockpub {

BlockRebuild::BlockRebuild(CompactBlock compact)
    : header_(compact.header), key_(compact.key()), slots_(compact.transaction_count()) {
    for (CompactBlock::Prefilled& prefilled : compact.prefilled)
        slots_[prefilled.position].transaction = std::move(prefilled.transaction);
    by_id_.reserve(compact.short_ids.size());
    std::uint32_t position = 0;
    for (const std::uint64_t id : compact.short_ids) {
        while (slots_[position].transaction.size() != 0) ++position;
        by_id_.push_back({id, position++});
    }
    std::ranges::sort(by_id_, {}, &ById::id);
    ambiguous_ = std::ranges::adjacent_find(by_id_, {}, &ById::id) != by_id_.end();
}

void BlockRebuild::offer(const MempoolTransaction& transaction) {
    const std::uint64_t id = short_id(key_, transaction.wtxid());
    const auto found = std::ranges::lower_bound(by_id_, id, {}, &ById::id);
    if (found == by_id_.end() || found->id != id) return;
    Slot& slot = slots_[found->position];
    if (slot.doubtful) return;
    if (slot.transaction.size() == 0) {
        slot.transaction = transaction.raw();
    } else {
        slot = {.transaction = {}, .doubtful = true};
    }
}

std::vector<std::uint32_t> BlockRebuild::missing() const {
    std::vector<std::uint32_t> positions;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        if (slots_[i].transaction.size() == 0) positions.push_back(static_cast<std::uint32_t>(i));
    }
    return positions;
}

bool BlockRebuild::fill(const std::vector<SharedBytes>& transactions) {
    const std::vector<std::uint32_t> positions = missing();
    if (positions.size() != transactions.size()) return false;
    for (std::size_t i = 0; i < positions.size(); ++i) slots_[positions[i]].transaction = transactions[i];
    return true;
}

SharedBytes BlockRebuild::block() const {
    const auto head = header_.encode();
    std::size_t size = head.size() + compact_size_length(slots_.size());
    for (const Slot& slot : slots_) {
        BLOCKPUB_CHECK(slot.transaction.size() != 0);
        size += slot.transaction.size();
    }
    // Whoever names the mempool's largest transactions makes no copy of them all.
    if (size > kMaxBlockSize) return {};
    std::vector<std::uint8_t> bytes;
    bytes.reserve(size);
    WireWriter writer(bytes);
    writer.bytes(head);
    writer.compact_size(slots_.size());
    for (const Slot& slot : slots_) writer.bytes(slot.transaction.bytes());
    return SharedBytes::copy_of(bytes);
}

/// A block that is too large cannot be put together either.
CompactBlocks::Step CompactBlocks::deliver(const BlockRebuild& rebuild) {
    SharedBytes block = rebuild.block();
    if (block.size() == 0) return {};
    return {.kind = Step::Kind::deliver, .block = std::move(block), .positions = {}};
}

void CompactBlocks::keep(PeerNumber peer, CompactBlock compact) {
    const auto other = kept_.find(peer);
    if (other != kept_.end() && other->second.rebuild) return;
    const BlockHash hash = compact.header.hash();
    kept_.insert_or_assign(peer, Kept{.hash = hash, .compact = std::move(compact), .rebuild = {}});
}

void CompactBlocks::give_up(PeerNumber peer, const BlockHash& hash) {
    const auto found = kept_.find(peer);
    if (found != kept_.end() && found->second.hash == hash) kept_.erase(found);
}

bool CompactBlocks::has(PeerNumber peer, const BlockHash& hash) const {
    const auto found = kept_.find(peer);
    return found != kept_.end() && found->second.compact && found->second.hash == hash;
}

CompactBlocks::Step CompactBlocks::begin(PeerNumber peer) {
    Kept& kept = kept_.at(peer);
    BlockRebuild& rebuild = kept.rebuild.emplace(std::move(*std::exchange(kept.compact, std::nullopt)));
    if (rebuild.ambiguous()) {
        kept_.erase(peer);
        return {};
    }
    board_.visit([&](const TransactionRef& transaction) { rebuild.offer(*transaction); });
    std::vector<std::uint32_t> missing = rebuild.missing();
    if (!missing.empty())
        return {.kind = Step::Kind::ask_transactions, .block = {}, .positions = std::move(missing)};
    Step whole = deliver(rebuild);
    kept_.erase(peer);
    return whole;
}

Result<CompactBlocks::Step> CompactBlocks::take(PeerNumber peer, const BlockTransactions& message) {
    const auto found = kept_.find(peer);
    if (found == kept_.end() || !found->second.rebuild || found->second.hash != message.block)
        return fail(Errc::not_found, "a block that is not being put together");
    if (!found->second.rebuild->fill(message.transactions)) {
        return fail(Errc::corrupt, "it sent more or fewer transactions of a block than it was asked for");
    }
    Step whole = deliver(*found->second.rebuild);
    kept_.erase(found);
    return whole;
}

}  // namespace blockpub
