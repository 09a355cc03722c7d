// SPDX-License-Identifier: MIT
#include "chain/coins_ledger.hpp"

#include "chain/block_coins.hpp"
#include "chain/connect_block.hpp"
#include "chain/facts.hpp"
#include "chain/undo.hpp"
#include "chain/verdict.hpp"

#include <fmt/format.h>

#include <utility>

namespace blockpub {
namespace {

/// Bytes of a block from which on it is worth the while of another thread.
constexpr std::size_t kWorthAThread = 200'000;
/// Coins that a block of the usual size makes and spends.
constexpr std::size_t kRoom = 16'384;

}  // namespace

Result<CoinsEngine::Connected> CoinsLedger::connect(BlockInChain& block) {
    if (auto room = coins_.make_room(); !room) return forward_error(room);
    auto parsed = block.parsed();
    if (!parsed) return forward_error(parsed);
    const auto ahead = ahead_of((*parsed)->raw());
    BlockCoins changes(coins_, std::exchange(room_, {}));
    auto connected = connect_coins(block, changes, params_, ahead.get());
    if (ahead) ahead->end();
    if (!connected) return forward_error(connected);
    if (!connected->reject_reason.empty()) {
        return Connected{.reject_reason = std::move(connected->reject_reason),
                         .reject_message = std::move(connected->reject_message),
                         .undo = {},
                         .facts = {}};
    }
    const bool repeats_coinbase = repeats_earlier_coinbase(block.height(), block.hash());
    Connected outcome;
    const auto encode = [&] {
        if (block.height().value != 0) outcome.undo = encode_undo(connected->undo);
        outcome.facts =
            encode_facts(compute_facts(**parsed, block.height(), repeats_coinbase, connected->undo));
    };
    const bool beside = (*parsed)->raw().size() >= kWorthAThread && side_.try_start(encode);
    coins_.apply(changes.take_changes());
    if (beside) {
        side_.wait();
    } else {
        encode();
    }
    return outcome;
}

bool CoinsLedger::settle() {
    if (coins_.settle()) return true;
    // Memory is touched now, and not while the next block is waited for.
    if (room_.capacity() < kRoom) {
        room_.resize(kRoom);
        room_.clear();
    }
    return false;
}

std::shared_ptr<CoinsAhead> CoinsLedger::look_ahead(const SharedBytes& raw) {
    if (raw.size() < kWorthAThread) return nullptr;
    auto ahead = std::make_shared<CoinsAhead>(raw, coins_);
    const MutexLock lock(mutex_);
    std::erase_if(ahead_, [](const auto& other) { return other.expired(); });
    ahead_.push_back(ahead);
    return ahead;
}

std::shared_ptr<CoinsAhead> CoinsLedger::ahead_of(const SharedBytes& raw) {
    const MutexLock lock(mutex_);
    for (const auto& held : ahead_) {
        auto ahead = held.lock();
        if (ahead && ahead->raw().data() == raw.data()) return ahead;
    }
    return nullptr;
}

Result<void> CoinsLedger::disconnect(BlockInChain& block) {
    if (auto room = coins_.make_room(); !room) return room;
    auto stored = block.undo();
    if (!stored) return forward_error(stored);
    auto undo = decode_undo(stored->bytes());
    if (!undo) {
        return fail(undo.error().code, fmt::format("block {} (height {}): {}", block.hash().display_hex(),
                                                   block.height().value, undo.error().context));
    }
    BlockCoins changes(coins_);
    if (auto taken = disconnect_coins(block, *undo, changes); !taken) return taken;
    coins_.apply(changes.take_changes());
    return {};
}

Result<std::string> CoinsLedger::test(BlockInChain& block) {
    BlockCoins changes(coins_);
    auto connected = connect_coins(block, changes, params_);
    if (!connected) return forward_error(connected);
    return Rejection{.reason = std::move(connected->reject_reason),
                     .message = std::move(connected->reject_message)}
        .text();
}

std::optional<Tip> CoinsLedger::stored_tip() const {
    const Tip flushed = coins_.status().flushed;
    if (flushed.hash.is_null()) return std::nullopt;
    return flushed;
}

}  // namespace blockpub
