// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "chain/chain.hpp"
#include "chain/chain_core.hpp"
#include "chain/coins_engine.hpp"
#include "chain/initial_download.hpp"
#include "chain/monitor.hpp"
#include "chain/step_writer.hpp"
#include "chain/verdict.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <variant>

namespace blockpub {

/// The chain thread and the queues in front of it.
///
/// Calls come first; what an import hands over keeps its own order. Each piece of work runs with the chain
/// lock held. Lock order: chain lock, then queue lock; the queue lock is never held over work. Thread safety,
/// Ownership, Blocking, Errors: as Chain.
class ChainThread final : public Chain, private RetryWait {
 public:
    explicit ChainThread(const ChainOptions& options);
    ~ChainThread() override;
    /// Loads the state and starts the thread. Requires: called once, before anything else.
    [[nodiscard]] Result<void> open() BLOCKPUB_EXCLUDES(chain_lock_, queue_lock_);

    [[nodiscard]] Result<BlockOutcome> submit_block(SharedBytes raw) override;
    [[nodiscard]] Result<void> submit_header(ByteSpan header) override;
    [[nodiscard]] Result<void> invalidate_block(const BlockHash& hash) override;
    [[nodiscard]] Result<void> reconsider_block(const BlockHash& hash) override;
    [[nodiscard]] Result<void> precious_block(const BlockHash& hash) override;
    [[nodiscard]] Result<std::optional<Height>> prune_blocks(std::int64_t height_or_time) override;
    [[nodiscard]] Result<std::string> test_block(SharedBytes raw) override;
    [[nodiscard]] Result<void> on_mempool(std::function<Result<void>(const HeaderNode& tip)> work) override;
    [[nodiscard]] Result<void> post_mempool(std::function<Result<void>(const HeaderNode& tip)> work) override
        BLOCKPUB_EXCLUDES(queue_lock_);
    void begin_import() override BLOCKPUB_EXCLUDES(queue_lock_);
    [[nodiscard]] Result<void> end_import() override;
    [[nodiscard]] Result<void> import_block(ParsedBlock block) override;
    [[nodiscard]] Result<void> mark_import(std::string key, std::string value) override;
    [[nodiscard]] Result<void> deliver_block(ParsedBlock block,
                                             std::function<void(const DeliveredBlock&)> done) override;
    [[nodiscard]] Result<void> post_headers(std::function<void(HeaderDesk&)> work) override
        BLOCKPUB_EXCLUDES(queue_lock_);
    [[nodiscard]] ImportCounters import_counters() const override { return monitor_.import_counters(); }
    [[nodiscard]] ChainStatus status() const override BLOCKPUB_EXCLUDES(queue_lock_);
    [[nodiscard]] Mutex& chain_lock() override BLOCKPUB_RETURN_CAPABILITY(chain_lock_) { return chain_lock_; }
    void stop() override BLOCKPUB_EXCLUDES(queue_lock_);

 private:
    /// A piece of work and, once it is done and durable, its outcome.
    struct Task {
        std::function<Result<void>(ChainCore&)> work;
        std::optional<Result<void>> outcome;  // guarded by queue_lock_
        bool attended = true;                 // somebody waits for it to be durable
    };
    struct ImportBlock {
        CheckedBlock block;
        std::size_t cost = 0;
    };
    struct ImportMark {
        std::string key;
        std::string value;
    };
    struct ImportEnd {
        std::shared_ptr<Task> task;
    };
    struct Delivery {
        CheckedBlock block;
        std::function<void(const DeliveredBlock&)> done;
        std::shared_ptr<CoinsAhead> coins_ahead;  // held until it is connected
    };
    using ImportItem = std::variant<ImportBlock, ImportMark, ImportEnd, Delivery>;
    struct TakeUpWaiting {};
    struct Commit {};
    struct Settle {};
    struct Prune {};
    struct MakeCoins {};
    using Work =
        std::variant<std::shared_ptr<Task>, ImportItem, TakeUpWaiting, Commit, Settle, Prune, MakeCoins>;

    [[nodiscard]] Result<void> call(std::function<Result<void>(ChainCore&)> work)
        BLOCKPUB_EXCLUDES(queue_lock_);
    /// As call, but nobody waits for the outcome.
    [[nodiscard]] Result<void> post(std::function<Result<void>(ChainCore&)> work)
        BLOCKPUB_EXCLUDES(queue_lock_);
    [[nodiscard]] Result<void> wait_for_locked(Task& task) BLOCKPUB_REQUIRES(queue_lock_);
    [[nodiscard]] Result<void> wait_patiently_locked(const std::shared_ptr<Task>& task)
        BLOCKPUB_REQUIRES(queue_lock_);
    [[nodiscard]] std::unexpected<Error> give_up_locked(const std::shared_ptr<Task>& task,
                                                        const std::string& reason)
        BLOCKPUB_REQUIRES(queue_lock_);
    [[nodiscard]] Result<void> enqueue_import(ImportItem item, std::size_t cost)
        BLOCKPUB_EXCLUDES(queue_lock_);
    [[nodiscard]] std::shared_ptr<CoinsAhead> look_ahead_at_tip(const SharedBytes& raw)
        BLOCKPUB_EXCLUDES(queue_lock_);
    [[nodiscard]] std::optional<Error> refusal_locked() const BLOCKPUB_REQUIRES(queue_lock_);

    void run();
    [[nodiscard]] std::optional<Work> next_work() BLOCKPUB_EXCLUDES(queue_lock_);
    [[nodiscard]] std::optional<Work> take_queued_locked() BLOCKPUB_REQUIRES(queue_lock_);
    void perform(Work work) BLOCKPUB_EXCLUDES(chain_lock_, queue_lock_);
    void perform_task(Task& task) BLOCKPUB_REQUIRES(chain_lock_);
    void perform_import(ImportItem& item) BLOCKPUB_REQUIRES(chain_lock_);
    void complete(Task& task, Result<void> outcome) BLOCKPUB_EXCLUDES(queue_lock_);
    void note_state_after_work() BLOCKPUB_REQUIRES(chain_lock_);
    void end_run();
    [[nodiscard]] bool wait(std::chrono::milliseconds time) override BLOCKPUB_REQUIRES(chain_lock_);

    // Constant after construction.
    const ChainOptions options_;

    // Internally synchronised.
    NoCoins no_coins_;
    ChainMonitor monitor_;
    mutable InitialDownload initial_download_;

    Mutex chain_lock_;
    std::unique_ptr<ChainCore> core_ BLOCKPUB_GUARDED_BY(chain_lock_);
    bool started_ BLOCKPUB_GUARDED_BY(chain_lock_) =
        false;  // before: what fails is an answer, not waited for

    mutable Mutex queue_lock_;
    CondVar work_arrived_;  // the chain thread waits
    CondVar room_made_;     // an import waits
    CondVar task_done_;     // callers wait
    std::deque<std::shared_ptr<Task>> calls_ BLOCKPUB_GUARDED_BY(queue_lock_);
    std::deque<ImportItem> imports_ BLOCKPUB_GUARDED_BY(queue_lock_);
    std::size_t import_bytes_ BLOCKPUB_GUARDED_BY(queue_lock_) = 0;
    unsigned imports_open_ BLOCKPUB_GUARDED_BY(queue_lock_) = 0;
    bool stopping_ BLOCKPUB_GUARDED_BY(queue_lock_) = false;
    std::optional<Error> halted_ BLOCKPUB_GUARDED_BY(queue_lock_);
    // Copies of the core's state for the wait between pieces of work.
    bool waiting_ready_ BLOCKPUB_GUARDED_BY(queue_lock_) = false;
    bool prune_due_ BLOCKPUB_GUARDED_BY(queue_lock_) = false;
    bool coins_ready_ BLOCKPUB_GUARDED_BY(queue_lock_) = false;
    bool coins_turn_ BLOCKPUB_GUARDED_BY(queue_lock_) = false;
    std::optional<std::chrono::steady_clock::time_point> commit_deadline_ BLOCKPUB_GUARDED_BY(queue_lock_);
    bool unsettled_ BLOCKPUB_GUARDED_BY(queue_lock_) = false;

    Mutex join_lock_;  // only around the join, for several callers of stop
    std::jthread thread_ BLOCKPUB_GUARDED_BY(join_lock_);
};

}  // namespace blockpub
