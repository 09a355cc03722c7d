// SPDX-License-Identifier: MIT
#include "primitives/transaction.hpp"
#include "source/p2p_peer.hpp"

#include <algorithm>
#include <utility>

// What a peer says, and what it is told, once hands are shaken.

namespace blockpub {
namespace {

constexpr std::uint32_t kFeeFilterProtocol = 70013;
constexpr std::chrono::seconds kFeeFilterPause{10};
constexpr std::uint64_t kCompactVersion = 2;  // short ids of wtxids
constexpr std::uint32_t kCompactProtocol = 70015;

}  // namespace

Result<void> Peer::session_message(const PeerMessage& message) {
    const std::string_view name = message.name.view();
    const ByteSpan payload = message.payload.bytes();
    if (name == "headers") {
        auto headers = decode_headers(payload);
        if (!headers) return forward_error(headers);
        return headers_->take(std::move(*headers), std::chrono::steady_clock::now());
    }
    if (name == "inv") return take_inventory(payload);
    if (name == "block") return host_.peer_block(*this, message.payload);
    if (name == "notfound") return take_not_found(payload);
    if (name == "cmpctblock") return take_compact_block(message.payload);
    if (name == "sendcmpct") return take_compact_wish(payload);
    if (name == "blocktxn") {
        const auto transactions = decode_block_transactions(message.payload);
        if (!transactions) return std::unexpected(transactions.error());
        return host_.peer_block_transactions(*this, *transactions);
    }
    if (name == "tx") return take_transaction(message.payload);
    if (name == "getdata") return take_request(payload);
    return {};
}

/// Its header goes the way of all headers; the rest waits for what becomes of it.
Result<void> Peer::take_compact_block(const SharedBytes& payload) {
    auto block = decode_compact_block(payload);
    if (!block) return forward_error(block);
    const BlockHeader header = block->header;
    if (compact_asked_) host_.peer_compact_block(*this, std::move(*block));
    return headers_->take_unchecked(header, std::chrono::steady_clock::now());
}

Result<void> Peer::take_compact_wish(ByteSpan payload) {
    const auto wish = decode_send_compact(payload);
    if (!wish) return std::unexpected(wish.error());
    if (wish->version != kCompactVersion) return {};
    compact_known_ = true;
    compact_wanted_ = wish->announce;
    return {};
}

bool Peer::ask_compact_blocks() {
    // Who does not know it passes it over, and some say first what the other side shows to need.
    if (!compact_known_ && session_->peer()->protocol < kCompactProtocol) return false;
    if (!std::exchange(compact_asked_, true))
        session_->send("sendcmpct", encode_send_compact({.announce = true, .version = kCompactVersion}));
    return true;
}

void Peer::request_block_transactions(const BlockTransactionsRequest& request) {
    session_->send("getblocktxn", encode_block_transactions_request(request));
}

Result<void> Peer::take_transaction(const SharedBytes& raw) {
    if (!host_.wants_transactions())
        return fail(Errc::corrupt, "it sent a transaction after it was told not to");
    last_transaction_ = host_.now_seconds();
    return host_.peer_transaction(*this, raw);
}

Result<void> Peer::take_request(ByteSpan payload) {
    const auto items = decode_inventory(payload);
    if (!items) return std::unexpected(items.error());
    host_.peer_wants(*this, *items);
    return {};
}

Result<void> Peer::take_inventory(ByteSpan payload) {
    const auto items = decode_inventory(payload);
    if (!items) return std::unexpected(items.error());
    const InventoryItem* last_block = nullptr;
    std::vector<InventoryItem> transactions;
    const std::uint32_t expected =
        by_wtxid() ? InventoryItem::witness_transaction : InventoryItem::transaction;
    for (const InventoryItem& item : *items) {
        if (item.is_block()) last_block = &item;
        if (!item.is_transaction()) continue;
        if (!host_.wants_transactions())
            return fail(Errc::corrupt, "it announced transactions after it was told not to");
        if (item.type == expected) transactions.push_back(item);
    }
    if (!transactions.empty() && relays()) host_.peer_announced(*this, transactions);
    if (last_block == nullptr) return {};
    return headers_->announced(last_block->block_hash());
}

Result<void> Peer::take_not_found(ByteSpan payload) {
    const auto items = decode_inventory(payload);
    if (!items) return std::unexpected(items.error());
    std::vector<BlockHash> blocks;
    std::vector<InventoryItem> transactions;
    for (const InventoryItem& item : *items) {
        if (item.is_block()) blocks.push_back(item.block_hash());
        if (item.is_transaction()) transactions.push_back(item);
    }
    if (!blocks.empty()) host_.peer_lacks_blocks(*this, blocks);
    if (!transactions.empty()) host_.peer_lacks_transactions(*this, transactions);
    return {};
}

void Peer::send_inventory(std::string_view message, const std::vector<InventoryItem>& items) {
    for (std::size_t first = 0; first < items.size(); first += kMaxInventory) {
        const auto begin = items.begin() + static_cast<std::ptrdiff_t>(first);
        const std::size_t count = std::min(kMaxInventory, items.size() - first);
        session_->send(message, encode_inventory({begin, begin + static_cast<std::ptrdiff_t>(count)}));
    }
}

void Peer::send_fee_filter(std::int64_t rate, Time now) {
    if (!relays() || session_->peer()->protocol < kFeeFilterProtocol || fee_filter_ == rate) return;
    // Of the end of initial download it is told at once.
    if (fee_filter_ && *fee_filter_ != kMaxMoney && now - fee_filter_told_ < kFeeFilterPause) return;
    fee_filter_ = rate;
    fee_filter_told_ = now;
    session_->send("feefilter", encode_fee_filter(rate));
}

void Peer::ask_mempool() {
    if (!relays() || (session_->peer()->services & kServiceBloom) == 0) return;
    if (!std::exchange(mempool_asked_, true)) session_->send("mempool", {});
}

}  // namespace blockpub
