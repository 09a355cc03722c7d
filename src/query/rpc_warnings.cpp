// SPDX-License-Identifier: MIT
#include "query/rpc_warnings.hpp"

#include "query/rpc_context.hpp"
#include "store/coin_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace blockpub {

namespace {

constexpr std::chrono::seconds kAloneTooLong{60};
constexpr std::chrono::seconds kBehindTooLong{600};
constexpr std::string_view kWritingStopped =
    "Writing has stopped: what was being synced may not be on the disk. See debug.log.";

/// What the following of nodes suffers from, once it has lasted.
void write_following_warnings(JsonWriter& out, const PeerList& peers, bool initial_download) {
    const PeerList::Lag lag = peers.lag();
    if (lag.alone_for >= kAloneTooLong) {
        out.string(
            fmt::format("None of the followed nodes ({}) has been connected for {} s: debug.log says why.",
                        lag.nodes, lag.alone_for.count()));
    }
    if (!initial_download && lag.behind_for >= kBehindTooLong) {
        out.string(fmt::format("The tip is {} blocks behind the followed nodes, since {} s ago.", lag.blocks,
                               lag.behind_for.count()));
    }
}

}  // namespace

void UnreadableBlocks::note(const BlockHash& hash, std::string why) {
    const MutexLock lock(mutex_);
    std::erase_if(rows_, [&](const Row& row) { return row.hash == hash; });
    if (rows_.size() == kMaxRows) rows_.erase(rows_.begin());
    rows_.push_back({hash, std::move(why)});
}

std::vector<UnreadableBlocks::Row> UnreadableBlocks::rows() const {
    const MutexLock lock(mutex_);
    return rows_;
}

void write_warnings(JsonWriter& out, const RpcContext& context) {
    const ChainStatus chain = context.chain->status();
    out.key("warnings");
    out.begin_array();
    if (chain.write_stopped) out.string(kWritingStopped);
    if (!chain.write_error.empty()) out.string("New blocks cannot be written: " + chain.write_error);
    if (!chain.unreachable.empty()) out.string("The best chain is not followed: " + chain.unreachable);
    if (context.coins != nullptr) {
        const CoinStoreStatus coins = context.coins->status();
        if (coins.write_stopped && !chain.write_stopped) out.string(kWritingStopped);
        if (coins.failing && chain.write_error.empty())
            out.string("Coins cannot be written, and wait in memory: " + coins.last_error);
    }
    if (context.peers != nullptr) write_following_warnings(out, *context.peers, chain.initial_download);
    if (context.publishers != nullptr) {
        for (const PublisherStatus& publisher : context.publishers->statuses()) {
            if (publisher.failing)
                out.string(fmt::format("{} is not served: {}", publisher.endpoint, publisher.last_error));
        }
    }
    if (context.unreadable != nullptr) {
        for (const UnreadableBlocks::Row& row : context.unreadable->rows())
            out.string(fmt::format("Block {} cannot be read: {}", row.hash.display_hex(), row.why));
    }
    out.end_array();
}

}  // namespace blockpub
