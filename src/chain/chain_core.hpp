// SPDX-License-Identifier: MIT
#pragma once

#include "chain/acceptance.hpp"
#include "chain/activation.hpp"
#include "chain/block_checks.hpp"
#include "chain/chain.hpp"
#include "chain/chain_start.hpp"
#include "chain/chain_state.hpp"
#include "chain/coins_behind.hpp"
#include "chain/header_desk.hpp"
#include "chain/initial_download.hpp"
#include "chain/mempool_follower.hpp"
#include "chain/monitor.hpp"
#include "chain/pruner.hpp"
#include "chain/step_writer.hpp"
#include "chain/waiting_blocks.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace blockpub {

/// What the chain thread does, without the thread: each entry of Chain as a call that runs to its end.
///
/// Every method leaves its changes applied; `finish` commits them. After an Error that is not about the
/// argument the work is over: whatever is called next answers that same Error. Thread safety: one thread at a
/// time, which holds the chain lock. Ownership: borrows all that it is made with.
class ChainCore final : private ActivationHost {
 public:
    /// Loads the store, connects genesis where there is none, activates the best chain that is stored.
    /// Errors: those of the store; invalid_argument for a store of another chain.
    [[nodiscard]] static Result<std::unique_ptr<ChainCore>> open(const ChainOptions& options,
                                                                 CoinsEngine& coins,
                                                                 InitialDownload& initial_download,
                                                                 RetryWait& wait, ChainMonitor& monitor);

    [[nodiscard]] Result<BlockOutcome> submit_block(CheckedBlock checked);
    [[nodiscard]] Result<void> submit_header(const BlockHeader& header);
    [[nodiscard]] Result<void> invalidate_block(const BlockHash& hash);
    [[nodiscard]] Result<void> reconsider_block(const BlockHash& hash);
    [[nodiscard]] Result<void> precious_block(const BlockHash& hash);
    /// `checked`: without its proof of work.
    [[nodiscard]] Result<std::string> test_block(const CheckedBlock& checked);
    /// Shows and releases what `work` changes in the mempool.
    [[nodiscard]] Result<void> on_mempool(const std::function<Result<void>(const HeaderNode& tip)>& work);
    [[nodiscard]] Result<void> import_block(const CheckedBlock& checked);
    [[nodiscard]] Result<void> mark_import(std::string key, std::string value);
    [[nodiscard]] Result<DeliveredBlock> deliver_block(const CheckedBlock& checked);
    [[nodiscard]] Result<void> at_headers(const std::function<void(HeaderDesk&)>& work);

    /// As Pruner::limit_of.
    [[nodiscard]] Result<Height> prune_limit(std::int64_t height_or_time) const;
    /// One batch of what may go with `limit`, up to `bytes`. Result: whether there is more. Errors: those of
    /// CoinsEngine::flush, and io for a file that cannot be removed: the work is not over then.
    [[nodiscard]] Result<bool> prune_batch(Height limit, std::uint64_t bytes);
    [[nodiscard]] std::optional<Height> pruned_to() const { return pruner_->pruned_to(); }
    /// Whether the stored blocks take more room than they should: `prune_automatically` gives up a batch.
    [[nodiscard]] bool prune_due() const { return prune_due_; }
    void prune_automatically();

    /// Whether a stored block waits whose parent has arrived: `take_up_waiting` takes the next one.
    [[nodiscard]] bool has_ready_waiting() const { return !ready_parents_.empty(); }
    [[nodiscard]] Result<void> take_up_waiting();

    /// Whether the chain is ahead of the coins, and the next block for them is here: `make_coins` takes it.
    [[nodiscard]] bool has_coins_to_make() const {
        return !halted_ && coins_.next(state_->active()) != nullptr;
    }
    [[nodiscard]] Result<void> make_coins();

    /// While importing, steps share commits and initial download holds.
    void set_importing(bool importing) { importing_ = importing; }
    /// While more blocks wait and the chain is far behind, steps share commits.
    void set_more_coming(bool more) { more_coming_ = more; }
    /// Ends a piece of work: shows what is left to show, and commits if it is time, or `durable` asks for it.
    [[nodiscard]] Result<void> finish(bool durable);
    /// As finish, for what nobody waits for: it is committed with what follows, or once it is time.
    [[nodiscard]] Result<void> finish_unattended();
    [[nodiscard]] bool dirty() const { return writer_->dirty(); }
    [[nodiscard]] std::chrono::steady_clock::time_point commit_deadline() const {
        return writer_->commit_deadline();
    }
    /// Whether `settle` has something to do, which makes later work faster, and can wait for when there is
    /// none.
    [[nodiscard]] bool unsettled() const { return unsettled_; }
    void settle();
    /// Why the work is over; empty while it is not.
    [[nodiscard]] const std::optional<Error>& halted() const { return halted_; }

 private:
    ChainCore(const ChainOptions& options, CoinsEngine& coins, InitialDownload& initial_download,
              RetryWait& wait, ChainMonitor& monitor);

    [[nodiscard]] bool initial_download(const HeaderNode& tip) override;
    [[nodiscard]] Result<void> step_made() override;
    [[nodiscard]] bool wait_to_retry(const Error& error, unsigned failures) override;
    void branch_unreachable(const HeaderNode& best) override;

    [[nodiscard]] Result<void> load();
    [[nodiscard]] Result<void> connect_genesis();
    [[nodiscard]] Result<void> load_start();
    [[nodiscard]] Result<void> catch_up_coins();
    [[nodiscard]] Result<void> coins_reached(const HeaderNode& reached);
    void publish_start();
    void note_filled(const HeaderNode& node);
    void publish_filling();
    void look_for_unreachable();
    [[nodiscard]] Result<void> commit();
    [[nodiscard]] Result<void> commit_step();
    void note_committed();
    [[nodiscard]] Result<HeaderNode*> find_block(const BlockHash& hash) const;
    [[nodiscard]] Result<std::optional<Verdict>> activate(const ParsedBlock* fresh);
    [[nodiscard]] Result<void> keep_waiting(const ParsedBlock& block);
    [[nodiscard]] Result<void> take_up(const WaitingBlocks::Waiting& waiting);
    [[nodiscard]] Result<void> import_with_parent(const CheckedBlock& checked,
                                                  const std::optional<BlobPlace>& stored);
    void complete_witness(CheckedBlock& checked) const;
    void header_arrived(const BlockHash& hash);
    [[nodiscard]] bool commit_due() const { return writer_->commit_due() || coins_.commit_due(); }
    [[nodiscard]] bool commit_now() const;
    [[nodiscard]] bool far_behind() const;
    void show_changes();
    [[nodiscard]] Result<void> keep_coins_above(Height height);
    void publish_chain();
    void publish_import();
    /// Remembers the Error and passes it on.
    [[nodiscard]] std::unexpected<Error> halt(Error error);

    const ChainOptions options_;
    CoinsBehind coins_;
    NoMempool no_mempool_;
    MempoolFollower& mempool_;
    InitialDownload& initial_download_;
    RetryWait& wait_;
    ChainMonitor& monitor_;
    const Log log_;
    WaitingBlocks waiting_;
    std::unique_ptr<ChainState> state_;  // set by load, like the five below
    std::unique_ptr<StepWriter> writer_;
    std::optional<Acceptance> acceptance_;
    std::optional<Activation> activation_;
    std::optional<Pruner> pruner_;
    std::optional<ChainStart> start_;
    std::deque<BlockHash> ready_parents_;  // known, with blocks waiting for them
    ImportCounters import_;
    bool importing_ = false;
    bool prune_due_ = false;
    std::optional<Uint256> unreachable_work_;  // of what cannot be followed
    bool prune_failed_ = false;                // and has been told of
    bool unsettled_ = false;                   // the coins engine has work left behind
    bool more_coming_ = false;
    bool nobody_waits_ = false;    // for what this piece of work changes
    bool waits_for_disk_ = false;  // the coins engine has no room just now
    std::optional<Error> halted_;
};

}  // namespace blockpub
