// SPDX-License-Identifier: MIT
#include "source/p2p_requests.hpp"

#include "source/p2p_permissions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace blockpub {
namespace {

constexpr std::size_t kMostHashes = 500;            // in an answer to getblocks
constexpr std::size_t kMostByHeaders = 8;           // blocks that are announced by their headers
constexpr std::size_t kMostTold = 1000;             // transactions in one inv
constexpr std::size_t kItemsInAStep = 64;           // of a getdata, blocks aside
constexpr std::size_t kBytesInAStep = 100'000;      // of transactions; the last one may come on top
constexpr std::uint32_t kNotFoundProtocol = 70002;  // what is older does not expect it for blocks

InventoryItem block_item(const BlockHash& hash) {
    return {InventoryItem::block, decltype(InventoryItem::hash)(hash.wire_bytes())};
}

bool is_transaction(const InventoryItem& item) {
    return item.type == InventoryItem::transaction || item.type == InventoryItem::witness_transaction ||
           item.type == (InventoryItem::transaction | InventoryItem::witness_flag);
}

std::vector<std::uint8_t> stripped(const TransactionView& transaction) {
    std::vector<std::uint8_t> bytes;
    for (const ByteSpan part : transaction.stripped_parts())
        bytes.insert(bytes.end(), part.begin(), part.end());
    return bytes;
}

}  // namespace

Result<void> PeerRequests::take_get_headers(ByteSpan payload) {
    const auto request = decode_get_headers(payload);
    if (!request) return std::unexpected(request.error());
    const auto answer = host_.chain().headers_after(*request, kMaxHeaders);
    if (!answer) return std::unexpected(answer.error());
    host_.send("headers", encode_headers(answer->headers));
    if (!answer->last.hash.is_null()) peers_tip_ = answer->last;
    return {};
}

Result<void> PeerRequests::take_get_blocks(ByteSpan payload) {
    const auto request = decode_get_headers(payload);
    if (!request) return std::unexpected(request.error());
    const auto answer = host_.chain().hashes_after(*request, kMostHashes);
    if (!answer) return std::unexpected(answer.error());
    if (answer->hashes.empty()) return {};
    std::vector<InventoryItem> items;
    std::ranges::transform(answer->hashes, std::back_inserter(items), block_item);
    host_.send("inv", encode_inventory(items));
    if (answer->more) continues_ = answer->hashes.back();
    return {};
}

Result<void> PeerRequests::take_get_data(ByteSpan payload) {
    auto items = decode_inventory(payload);
    if (!items) return forward_error(items);
    wanted_ = std::move(*items);
    next_ = 0;
    return {};
}

Result<void> PeerRequests::take_mempool() {
    const std::uint32_t permissions = host_.manners().permissions;
    if (!has_permission(permissions, kMempoolPermission)) {
        if (has_permission(permissions, kNoBanPermission)) return {};
        return fail(Errc::unsupported, "it asked for the mempool, for which it needs that permission");
    }
    if (!host_.manners().relay) return {};
    const std::vector<InventoryItem> all = host_.transactions().everything(host_.manners().taste);
    for (std::size_t at = 0; at < all.size(); at += kMaxInventory) {
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(at);
        const std::size_t count = std::min(kMaxInventory, all.size() - at);
        host_.send("inv", encode_inventory({first, first + static_cast<std::ptrdiff_t>(count)}));
    }
    return {};
}

void PeerRequests::chain_moved(Height fork) {
    moved_above_ = std::min(moved_above_.value_or(fork), fork);
}

Result<bool> PeerRequests::step() {
    if (moved_above_) {
        if (auto told = announce_tip(); !told) return forward_error(told);
        return true;
    }
    if (announce_transactions()) return true;
    if (!busy()) return false;
    if (auto served = serve_some(); !served) return forward_error(served);
    return true;
}

/// By headers where the peer wants that and has the parent, else by the hash of the tip alone, as bitcoind
/// does.
Result<void> PeerRequests::announce_tip() {
    const Height fork = *std::exchange(moved_above_, std::nullopt);
    const auto news = host_.chain().news(peers_tip_, fork, kMostByHeaders);
    if (!news) return std::unexpected(news.error());
    if (news->known) return {};
    if (!host_.manners().wants_headers || news->headers.empty()) {
        announce_by_inv(news->tip.hash);
        return {};
    }
    host_.send("headers", encode_headers(news->headers));
    peers_tip_ = news->tip;
    return {};
}

void PeerRequests::announce_by_inv(const BlockHash& hash) {
    if (std::exchange(announced_, hash) == hash) return;
    host_.send("inv", encode_inventory({block_item(hash)}));
}

bool PeerRequests::announce_transactions() {
    const TransactionRelay& relay = host_.transactions();
    if (told_ >= relay.end()) return false;
    if (!host_.manners().relay) {
        told_ = relay.end();
        return false;
    }
    const auto items = relay.take(told_, host_.manners().taste, kMostTold);
    if (!items.empty()) host_.send("inv", encode_inventory(items));
    return true;
}

Result<void> PeerRequests::serve_some() {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < kItemsInAStep && bytes < kBytesInAStep && busy(); ++i) {
        const InventoryItem item = wanted_[next_++];
        if (is_transaction(item)) {
            bytes += serve_transaction(item);
        } else if (item.is_block() || item.type == InventoryItem::compact_block) {
            if (auto served = serve_block(item); !served) return served;
            break;
        }
    }
    if (!busy()) finish_serving();
    return {};
}

void PeerRequests::finish_serving() {
    wanted_ = {};
    next_ = 0;
    if (!not_found_.empty()) host_.send("notfound", encode_inventory(std::exchange(not_found_, {})));
}

Result<void> PeerRequests::serve_block(const InventoryItem& item) {
    const BlockHash hash = item.block_hash();
    const bool with_witness = item.type != InventoryItem::block;
    const auto block = host_.chain().block(hash, with_witness);
    if (!block) {
        const Errc code = block.error().code;
        if (code == Errc::not_found || code == Errc::unavailable) return lacks_block(item);
        return fail(Errc::io,
                    fmt::format("block {} could not be read: {}", hash.display_hex(), block.error().context));
    }
    if (!host_.may_send_block(block->time) &&
        !has_permission(host_.manners().permissions, kDownloadPermission)) {
        return fail(Errc::limit,
                    "-maxuploadtarget is reached: blocks of more than a week ago are not sent today");
    }
    host_.send_block(*block);
    if (continues_ != hash) return {};
    continues_.reset();
    const auto tip = host_.chain().tip();
    if (!tip) return std::unexpected(tip.error());
    host_.send("inv", encode_inventory({block_item(tip->hash)}));
    return {};
}

Result<void> PeerRequests::lacks_block(const InventoryItem& item) {
    if (host_.manners().protocol < kNotFoundProtocol) {
        return fail(Errc::unavailable,
                    fmt::format("it asked for block {}, which is not here", item.block_hash().display_hex()));
    }
    not_found_.push_back(item);
    return {};
}

/// Result: the size of what is sent.
std::size_t PeerRequests::serve_transaction(const InventoryItem& item) {
    const TransactionRef found = host_.transactions().find(item);
    if (found == nullptr) {
        if (host_.manners().protocol >= kNotFoundProtocol) not_found_.push_back(item);
        return 0;
    }
    if (item.type == InventoryItem::transaction) {
        host_.send("tx", stripped(found->view()));
    } else {
        host_.send("tx", found->raw().bytes());
    }
    return found->raw().size();
}

}  // namespace blockpub
