// SPDX-License-Identifier: MIT
#pragma once

#include "base/log.hpp"
#include "chain/chain_state.hpp"
#include "chain/coins_engine.hpp"
#include "chain/mempool_follower.hpp"
#include "chain/verdict.hpp"
#include "primitives/block.hpp"

#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <optional>

namespace blockpub {

class StoredBlock;

/// What the activation needs of the thread that it runs on.
/// Thread safety: called on the chain thread only.
class ActivationHost {
 public:
    virtual ~ActivationHost() = default;
    /// Whether initial download holds with this tip in place.
    [[nodiscard]] virtual bool initial_download(const HeaderNode& tip) = 0;
    /// A step is complete in ChainState::changes(): to be shown, committed and released.
    /// Errors: stopped, outcome_unknown; the work ends there.
    [[nodiscard]] virtual Result<void> step_made() = 0;
    /// Waits before what failed is tried again; `failures` so far, at least 1. Result: false when shutting
    /// down.
    [[nodiscard]] virtual bool wait_to_retry(const Error& error, unsigned failures) = 0;
    /// A branch with more work than the tip leaves the chain below blocks that are pruned: it is not
    /// followed.
    virtual void branch_unreachable(const HeaderNode& best) = 0;
};

/// Moves the active chain to the best valid candidate, in steps.
///
/// A step disconnects to the fork point and connects until the new tip has more work than the tip before it;
/// a branch that proves invalid on the way is left again within the same step. Each step ends in at most one
/// tip update.
///
/// Thread safety: chain thread only.
/// Ownership: borrows all that it is made with.
/// Errors: those of ActivationHost; corrupt, when a disconnect cannot be made: the state is not consistent
/// then and must not be used again. Source: Bitcoin Core v28.1 src/validation.cpp, ActivateBestChain,
/// ActivateBestChainStep, InvalidateBlock.
class Activation {
 public:
    Activation(ChainState& state, CoinsEngine& coins, MempoolFollower& mempool, Store& store,
               ActivationHost& host, Log log)
        : state_(state), coins_(coins), mempool_(mempool), store_(store), host_(host), log_(log) {}

    /// `fresh`: a block that has just arrived, which is then not read from the store; may be null.
    /// Result: what connecting `fresh` came to, if that was tried.
    [[nodiscard]] Result<std::optional<Verdict>> activate_best_chain(const ParsedBlock* fresh);
    /// Takes the chain back to before `node`, a step and a commit for each block, and marks it and its
    /// descendants. The tip update comes with the last step. Does not go on to another branch: activate
    /// afterwards. Requires: no block from the tip down to `node` is pruned.
    [[nodiscard]] Result<void> invalidate(HeaderNode& node);

 private:
    enum class Connect { done, invalid, block_lost };

    [[nodiscard]] Result<bool> make_step(HeaderNode*& target);
    [[nodiscard]] Result<bool> extend_towards(HeaderNode& target);
    [[nodiscard]] Result<Connect> connect_path(HeaderNode& target, const HeaderNode* old_tip);
    [[nodiscard]] Result<Connect> connect(HeaderNode& node);
    [[nodiscard]] Result<void> disconnect_tip();
    void follow_connect(StoredBlock& block);
    void expect_readers(const StoredBlock& block, const CoinsEngine::Connected& connected);
    void insert_mempool_events(std::size_t place, bool return_to_mempool);
    void end_step_at(HeaderNode& tip, const HeaderNode* fork);

    ChainState& state_;
    CoinsEngine& coins_;
    MempoolFollower& mempool_;
    Store& store_;
    ActivationHost& host_;
    Log log_;
    const ParsedBlock* fresh_ = nullptr;    // during activate_best_chain
    std::optional<Verdict> fresh_checked_;  // likewise
};

}  // namespace blockpub
