// SPDX-License-Identifier: MIT
#include "chain/coins_catch_up.hpp"

#include "chain/stored_block.hpp"

#include <fmt/format.h>

#include <chrono>

namespace blockpub {
namespace {

using Reached = std::function<Result<void>(const HeaderNode&)>;

/// The node whose coins are on disk; null: none are.
Result<HeaderNode*> coins_node(ChainState& state, const CoinsEngine& coins) {
    const auto tip = coins.stored_tip();
    if (!tip) return nullptr;
    if (HeaderNode* const node = state.tree().find(tip->hash)) return node;
    return fail(Errc::corrupt,
                fmt::format("the coins on disk are those of block {}, which this store does not know: "
                            "remove the directory `coins` to have them made again",
                            tip->hash.display_hex()));
}

/// Tells at most every few seconds how far the work has come.
class Progress {
 public:
    Progress(const Log& log, Height target) : log_(log), target_(target) {}
    void at(Height height) {
        ++blocks_;
        const auto now = std::chrono::steady_clock::now();
        if (now - last_ < std::chrono::seconds(5)) return;
        last_ = now;
        log_.info("coins: at height {} of {}", height.value, target_.value);
    }
    void end() const {
        const auto took = std::chrono::steady_clock::now() - began_;
        log_.info("coins: at height {}, {} blocks in {} ms", target_.value, blocks_,
                  std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
    }

 private:
    const Log& log_;
    const Height target_;
    const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    std::chrono::steady_clock::time_point last_ = began_;
    std::uint64_t blocks_ = 0;
};

}  // namespace

Result<void> connect_coins_of(ChainState& state, HeaderNode& node, CoinsEngine& coins, Store& store) {
    StoredBlock block(node, store, nullptr);
    auto connected = coins.connect(block);
    if (!connected) return forward_error(connected);
    if (!connected->reject_reason.empty()) {
        return fail(Errc::corrupt,
                    fmt::format("block {} (height {}) of the active chain is invalid: {}",
                                node.hash.display_hex(), node.height.value, connected->reject_reason));
    }
    return store_outcome(store, state, node, *connected);
}

Result<HeaderNode*> roll_back_coins(ChainState& state, CoinsEngine& coins, Store& store,
                                    const Reached& reached) {
    auto at = coins_node(state, coins);
    while (at && *at != nullptr && !state.active().contains(**at)) {
        StoredBlock block(**at, store, nullptr);
        if (auto undone = coins.disconnect(block); !undone) return forward_error(undone);
        *at = (*at)->previous;
        if (auto done = reached(**at); !done) return forward_error(done);
    }
    return at;
}

Result<void> roll_coins(ChainState& state, CoinsEngine& coins, Store& store, const Log& log,
                        const Reached& reached) {
    auto from = coins_node(state, coins);
    if (!from) return forward_error(from);
    HeaderNode& tip = *state.active().tip();
    HeaderNode* at = *from;
    if (at == &tip) {
        coins.show({.hash = tip.hash, .height = tip.height});
        return {};
    }
    if (at != nullptr) {
        log.info("coins: stored as of height {}, bringing them to {}", at->height.value, tip.height.value);
    } else {
        log.info("coins: none stored, making them from the blocks up to height {}", tip.height.value);
    }
    const HeaderNode* const fork = at == nullptr ? nullptr : state.active().find_fork(*at);
    const HeaderNode* missing = state.pruned_above(fork);
    for (const HeaderNode* node = at; missing == nullptr && node != fork; node = node->previous) {
        if (node->pruned()) missing = node;
    }
    if (missing != nullptr) {
        return fail(Errc::unavailable,
                    fmt::format("the coins cannot be brought to the tip: block {} (height {}) is needed for "
                                "it, and was pruned. Give an empty data directory and import again",
                                missing->hash.display_hex(), missing->height.value));
    }
    Progress progress(log, tip.height);
    from = roll_back_coins(state, coins, store, [&](const HeaderNode& node) -> Result<void> {
        progress.at(node.height);
        return reached(node);
    });
    if (!from) return forward_error(from);
    at = *from;
    while (at != &tip) {
        HeaderNode& next = *tip.ancestor(at == nullptr ? Height{0} : at->height.next());
        if (auto connected = connect_coins_of(state, next, coins, store); !connected) return connected;
        at = &next;
        progress.at(next.height);
        if (auto done = reached(next); !done) return done;
    }
    progress.end();
    return {};
}

}  // namespace blockpub
