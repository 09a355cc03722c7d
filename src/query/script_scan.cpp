// SPDX-License-Identifier: MIT
#include "query/script_scan.hpp"

#include "primitives/block.hpp"
#include "primitives/header.hpp"
#include "query/chain_view.hpp"

#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

namespace blockpub {
namespace {

constexpr std::size_t kMostFound = 500'000;      // a reply of some 200 MB
constexpr std::size_t kMostChanged = 4'000'000;  // outpoints of hundreds of full blocks
constexpr std::uint64_t kRowsBetweenQuestions = 4096;
constexpr std::uint64_t kCoinsBetweenProgress = 256;

using Outpoints = std::unordered_set<Outpoint, OutpointHash>;

std::size_t part_of(const Txid& txid) {
    return txid.wire_bytes()[0];
}

/// How far a scan in the order of txids is that has come to this one.
int percent_at(const Txid& txid) {
    const unsigned place = txid.wire_bytes()[0] * 256u + txid.wire_bytes()[1];
    return static_cast<int>(place * 100.0 / 65536.0 + 0.5);
}

Result<Tip> parent_of(const Snapshot& snapshot, const Tip& block) {
    auto record = snapshot.header(block.hash);
    if (!record) return forward_error(record);
    if (block.height.value == 0) return fail(Errc::corrupt, "two chains that do not meet");
    return Tip{.hash = BlockHeader::decode(record->header).previous, .height = {block.height.value - 1}};
}

/// The blocks that have to be disconnected and connected to get from one tip to another.
Result<std::vector<BlockHash>> blocks_between(const Snapshot& snapshot, Tip from, Tip to) {
    std::vector<BlockHash> blocks;
    while (from.hash != to.hash) {
        Tip& higher = from.height.value > to.height.value ? from : to;
        blocks.push_back(higher.hash);
        auto parent = parent_of(snapshot, higher);
        if (!parent) return forward_error(parent);
        higher = *parent;
    }
    return blocks;
}

/// Adds the outpoints of the first `parts` parts that a block makes or spends.
Result<void> add_changed(ByteSpan block, std::size_t parts, Outpoints& changed) {
    return for_each_transaction(block, [&](std::size_t, const TransactionView& transaction) {
        transaction.for_each_input([&](std::size_t, const TxInput& input) {
            if (part_of(input.prevout.txid) < parts) changed.insert(input.prevout);
            return true;
        });
        const Txid txid = transaction.txid();
        if (part_of(txid) >= parts) return;
        for (std::uint32_t i = 0; i < transaction.output_count(); ++i)
            changed.insert({.txid = txid, .position = i});
    });
}

Result<std::optional<Coin>> coin_at(const CoinSnapshot& snapshot, const Outpoint& outpoint) {
    auto coin = snapshot.find(outpoint);
    if (coin) return std::optional<Coin>(std::move(*coin));
    if (coin.error().code == Errc::not_found) return std::optional<Coin>();
    return forward_error(coin);
}

}  // namespace

Result<ScriptScanResult> ScriptScan::run() {
    auto snapshot = sources_.coins.snapshot();
    if (!snapshot) return forward_error(snapshot);
    result_.complete = true;
    for (std::size_t part = 0; part < CoinSnapshot::kParts && result_.complete; ++part) {
        if (part != 0) {
            auto next = sources_.coins.snapshot();
            if (!next) return forward_error(next);
            if (auto followed = follow(*snapshot, *next, part); !followed) return forward_error(followed);
            *snapshot = std::move(*next);
        }
        auto scanned = scan_part(*snapshot, part);
        if (!scanned) return forward_error(scanned);
        result_.complete = *scanned == Progress::done;
    }
    result_.tip = snapshot->tip();
    if (result_.complete) control_.progress(100);
    if (auto blocks = find_blocks(); !blocks) return forward_error(blocks);
    return std::move(result_);
}

Result<ScriptScan::Progress> ScriptScan::scan_part(const CoinSnapshot& snapshot, std::size_t part) {
    if (control_.aborted()) return Progress::aborted;
    bool aborted = false;
    auto scanned = snapshot.scan_part(part, [&](const Outpoint& outpoint, const Coin& coin) -> Result<void> {
        if (result_.coins % kRowsBetweenQuestions == 0) {
            if (control_.stopping()) return fail(Errc::stopped, "shutting down");
            aborted = control_.aborted();
            if (aborted) return fail(Errc::stopped, "aborted");
        }
        if (result_.coins % kCoinsBetweenProgress == 0) control_.progress(percent_at(outpoint.txid));
        ++result_.coins;
        return is_wanted(coin) ? keep(outpoint, coin) : Result<void>();
    });
    if (aborted) return Progress::aborted;
    if (!scanned) return forward_error(scanned);
    return Progress::done;
}

Result<void> ScriptScan::follow(const CoinSnapshot& before, const CoinSnapshot& after, std::size_t parts) {
    if (before.tip() == after.tip()) return {};
    std::vector<BlockHash> blocks;
    {
        auto headers = sources_.store.snapshot();
        if (!headers) return forward_error(headers);
        auto between = blocks_between(*headers, before.tip(), after.tip());
        if (!between) return forward_error(between);
        blocks = std::move(*between);
    }
    Outpoints changed;
    for (const BlockHash& hash : blocks) {
        if (control_.stopping()) return fail(Errc::stopped, "shutting down");
        auto raw = sources_.blocks.read_block(hash);
        if (!raw) return forward_error(raw);
        if (auto added = add_changed(raw->bytes(), parts, changed); !added) return added;
        if (changed.size() > kMostChanged)
            return fail(Errc::limit, "The chain moves too fast to be followed; scan when it has caught up");
    }
    for (const Outpoint& outpoint : changed) {
        if (auto looked = look_again(before, after, outpoint); !looked) return looked;
    }
    return {};
}

Result<void> ScriptScan::look_again(const CoinSnapshot& before, const CoinSnapshot& after,
                                    const Outpoint& outpoint) {
    auto was = coin_at(before, outpoint);
    if (!was) return forward_error(was);
    auto is = coin_at(after, outpoint);
    if (!is) return forward_error(is);
    if (*was) --result_.coins;
    if (*is) ++result_.coins;
    result_.found.erase(outpoint);
    return *is && is_wanted(**is) ? keep(outpoint, **is) : Result<void>();
}

bool ScriptScan::is_wanted(const Coin& coin) {
    script_.assign(coin.script.begin(), coin.script.end());
    return wanted_(script_);
}

Result<void> ScriptScan::keep(const Outpoint& outpoint, const Coin& coin) {
    if (result_.found.size() >= kMostFound)
        return fail(Errc::limit, "Too many coins pay to these scripts; scan for fewer at a time");
    result_.found.insert_or_assign(outpoint, ScriptScanResult::Found{.coin = coin, .block = {}});
    return {};
}

/// The tip may have left the active chain since: its own branch is followed down to where both meet.
Result<void> ScriptScan::find_blocks() {
    auto snapshot = sources_.store.snapshot();
    if (!snapshot) return forward_error(snapshot);
    std::map<std::uint32_t, BlockHash> branch;
    Tip at = result_.tip;
    while (true) {
        auto active = is_active(*snapshot, at.hash, at.height);
        if (!active) return forward_error(active);
        if (*active) break;
        branch[at.height.value] = at.hash;
        auto parent = parent_of(*snapshot, at);
        if (!parent) return forward_error(parent);
        at = *parent;
    }
    for (auto& [outpoint, found] : result_.found) {
        if (const auto own = branch.find(found.coin.height.value); own != branch.end()) {
            found.block = own->second;
            continue;
        }
        auto hash = snapshot->active(found.coin.height);
        if (!hash) return forward_error(hash);
        found.block = *hash;
    }
    return {};
}

}  // namespace blockpub
