// SPDX-License-Identifier: MIT
#include "chain/chain_thread.hpp"

#include "base/check.hpp"
#include "base/thread.hpp"
#include "chain/block_checks.hpp"
#include "chain/submitted_block.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace blockpub {
namespace {

/// An import that hands over nothing for so long lets the chain thread commit what it has.
constexpr std::chrono::milliseconds kImportIdle{50};
/// After so long without work the chain thread does what can wait. Announcing a block, which others do with
/// the processor, takes less.
constexpr std::chrono::milliseconds kSettleAfter{5};
/// Memory that a decoded transaction takes beside its bytes.
constexpr std::size_t kEntryCost = sizeof(ParsedBlock::Entry);

Error stopped() {
    return {Errc::stopped, "shutting down"};
}

std::size_t memory_of(const ParsedBlock& block) {
    return block.raw().size() + block.transactions().size() * kEntryCost;
}

}  // namespace

Result<std::unique_ptr<Chain>> Chain::start(ChainOptions options) {
    BLOCKPUB_CHECK(options.params != nullptr && options.store != nullptr && options.bus != nullptr &&
                   options.clock != nullptr);
    auto chain = std::make_unique<ChainThread>(options);
    if (auto opened = chain->open(); !opened) return forward_error(opened);
    return chain;
}

ChainThread::ChainThread(const ChainOptions& options)
    : options_(options), initial_download_(*options.clock, options.minimum_chainwork, options.max_tip_age) {}

ChainThread::~ChainThread() {
    stop();
}

Result<void> ChainThread::open() {
    {
        const MutexLock chain(chain_lock_);
        CoinsEngine& coins = options_.coins == nullptr ? no_coins_ : *options_.coins;
        auto core = ChainCore::open(options_, coins, initial_download_, *this, monitor_);
        if (!core) return forward_error(core);
        core_ = std::move(*core);
        started_ = true;
        note_state_after_work();
    }
    const MutexLock join(join_lock_);
    thread_ = start_thread("chain", [this](const std::stop_token&) { run(); });
    return {};
}

Result<BlockOutcome> ChainThread::submit_block(SharedBytes raw) {
    const auto coins_ahead = options_.coins != nullptr ? options_.coins->look_ahead(raw) : nullptr;
    WitnessRootAhead witness_root(raw);
    auto block = decode_submitted_block(std::move(raw));
    if (!block) return forward_error(block);
    struct Submission {
        CheckedBlock checked;
        BlockOutcome answer;
    };
    const auto submission = std::make_shared<Submission>(
        Submission{CheckedBlock::check(std::move(*block), *options_.params, true, &witness_root), {}});
    auto done = call([submission](ChainCore& core) -> Result<void> {
        auto answer = core.submit_block(std::move(submission->checked));
        if (!answer) return forward_error(answer);
        submission->answer = std::move(*answer);
        return {};
    });
    if (!done) return forward_error(done);
    return std::move(submission->answer);
}

Result<void> ChainThread::submit_header(ByteSpan header) {
    if (header.size() < BlockHeader::kSize) return fail(Errc::corrupt, "Block header decode failed");
    const BlockHeader decoded = BlockHeader::decode(header);
    return call([decoded](ChainCore& core) { return core.submit_header(decoded); });
}

Result<void> ChainThread::invalidate_block(const BlockHash& hash) {
    return call([hash](ChainCore& core) { return core.invalidate_block(hash); });
}

Result<void> ChainThread::reconsider_block(const BlockHash& hash) {
    return call([hash](ChainCore& core) { return core.reconsider_block(hash); });
}

Result<void> ChainThread::precious_block(const BlockHash& hash) {
    return call([hash](ChainCore& core) { return core.precious_block(hash); });
}

Result<std::optional<Height>> ChainThread::prune_blocks(std::int64_t height_or_time) {
    struct Pruning {
        std::optional<Height> limit;  // of the first call
        bool more = true;
        std::optional<Height> pruned_to;
    };
    const auto work = std::make_shared<Pruning>();
    while (work->more) {
        auto done = call([work, height_or_time](ChainCore& core) -> Result<void> {
            if (!work->limit) {
                const auto limit = core.prune_limit(height_or_time);
                if (!limit) return std::unexpected(limit.error());
                work->limit = *limit;
            }
            const auto more = core.prune_batch(*work->limit, std::numeric_limits<std::uint64_t>::max());
            if (!more) return std::unexpected(more.error());
            work->more = *more;
            work->pruned_to = core.pruned_to();
            return {};
        });
        if (!done) return forward_error(done);
    }
    return work->pruned_to;
}

Result<std::string> ChainThread::test_block(SharedBytes raw) {
    auto block = decode_submitted_block(std::move(raw));
    if (!block) return forward_error(block);
    struct Trial {
        CheckedBlock checked;
        std::string answer;
    };
    const auto trial =
        std::make_shared<Trial>(Trial{CheckedBlock::check(std::move(*block), *options_.params, false), {}});
    auto done = call([trial](ChainCore& core) -> Result<void> {
        auto answer = core.test_block(trial->checked);
        if (!answer) return forward_error(answer);
        trial->answer = std::move(*answer);
        return {};
    });
    if (!done) return forward_error(done);
    return std::move(trial->answer);
}

Result<void> ChainThread::on_mempool(std::function<Result<void>(const HeaderNode& tip)> work) {
    return call([work = std::move(work)](ChainCore& core) { return core.on_mempool(work); });
}

std::optional<Error> ChainThread::refusal_locked() const {
    if (halted_) return halted_;
    if (stopping_) return stopped();
    return std::nullopt;
}

/// Runs `work` on the chain thread and waits until what it did is durable and released. `work` must own what
/// it uses: a caller whose patience has run out is gone while it goes on.
Result<void> ChainThread::call(std::function<Result<void>(ChainCore&)> work) {
    const auto task = std::make_shared<Task>(Task{std::move(work), std::nullopt});
    MutexLock lock(queue_lock_);
    if (auto refused = refusal_locked()) return std::unexpected(std::move(*refused));
    calls_.push_back(task);
    work_arrived_.notify_one();
    return wait_patiently_locked(task);
}

Result<void> ChainThread::wait_for_locked(Task& task) {
    while (!task.outcome) task_done_.wait(queue_lock_);
    return std::move(*task.outcome);
}

/// As wait_for_locked, but not for longer than the disk may refuse to work. Work that only takes long is
/// waited for.
Result<void> ChainThread::wait_patiently_locked(const std::shared_ptr<Task>& task) {
    while (!task->outcome) {
        const auto now = std::chrono::steady_clock::now();
        const auto trouble = monitor_.trouble();
        const auto limit = (trouble ? trouble->since : now) + options_.call_patience;
        if (trouble && now >= limit) return give_up_locked(task, trouble->reason);
        static_cast<void>(task_done_.wait_until(queue_lock_, limit));
    }
    return std::move(*task->outcome);
}

std::unexpected<Error> ChainThread::give_up_locked(const std::shared_ptr<Task>& task,
                                                   const std::string& reason) {
    const bool begun = std::erase(calls_, task) == 0;
    return fail(Errc::io, reason + (begun ? "; what this call changes is kept in memory, and is written and "
                                            "announced once that works again"
                                          : "; nothing was changed, call again once that works"));
}

void ChainThread::begin_import() {
    const MutexLock lock(queue_lock_);
    ++imports_open_;
}

Result<void> ChainThread::end_import() {
    const auto task =
        std::make_shared<Task>(Task{[](ChainCore&) -> Result<void> { return {}; }, std::nullopt});
    MutexLock lock(queue_lock_);
    if (auto refused = refusal_locked()) {
        if (imports_open_ != 0) --imports_open_;
        return std::unexpected(std::move(*refused));
    }
    imports_.emplace_back(ImportEnd{task});
    work_arrived_.notify_one();
    return wait_for_locked(*task);
}

Result<void> ChainThread::import_block(ParsedBlock block) {
    const std::size_t cost = memory_of(block);
    return enqueue_import(ImportBlock{CheckedBlock::check(std::move(block), *options_.params), cost}, cost);
}

Result<void> ChainThread::mark_import(std::string key, std::string value) {
    return enqueue_import(ImportMark{std::move(key), std::move(value)}, 0);
}

/// Looks for the coins of a block beside its checks, where the chain thread is going to wait for it.
std::shared_ptr<CoinsAhead> ChainThread::look_ahead_at_tip(const SharedBytes& raw) {
    if (options_.coins == nullptr || status().initial_download) return nullptr;
    {
        const MutexLock lock(queue_lock_);
        if (!imports_.empty()) return nullptr;
    }
    return options_.coins->look_ahead(raw);
}

Result<void> ChainThread::deliver_block(ParsedBlock block, std::function<void(const DeliveredBlock&)> done) {
    const SharedBytes raw = block.raw();
    auto coins_ahead = look_ahead_at_tip(raw);
    WitnessRootAhead witness_root(raw);
    auto checked = CheckedBlock::check(std::move(block), *options_.params, true, &witness_root);
    return enqueue_import(Delivery{std::move(checked), std::move(done), std::move(coins_ahead)}, 0);
}

Result<void> ChainThread::post_headers(std::function<void(HeaderDesk&)> work) {
    return post([work = std::move(work)](ChainCore& core) { return core.at_headers(work); });
}

Result<void> ChainThread::post_mempool(std::function<Result<void>(const HeaderNode& tip)> work) {
    return post([work = std::move(work)](ChainCore& core) { return core.on_mempool(work); });
}

Result<void> ChainThread::post(std::function<Result<void>(ChainCore&)> work) {
    const auto task = std::make_shared<Task>(Task{std::move(work), std::nullopt, false});
    const MutexLock lock(queue_lock_);
    if (auto refused = refusal_locked()) return std::unexpected(std::move(*refused));
    calls_.push_back(task);
    work_arrived_.notify_one();
    return {};
}

Result<void> ChainThread::enqueue_import(ImportItem item, std::size_t cost) {
    MutexLock lock(queue_lock_);
    while (!refusal_locked() && cost != 0 && import_bytes_ != 0 &&
           import_bytes_ + cost > options_.import_queue_bytes) {
        room_made_.wait(queue_lock_);
    }
    if (auto refused = refusal_locked()) return std::unexpected(std::move(*refused));
    imports_.push_back(std::move(item));
    import_bytes_ += cost;
    work_arrived_.notify_one();
    return {};
}

ChainStatus ChainThread::status() const {
    ChainMonitor::View view = monitor_.view();
    {
        const MutexLock lock(queue_lock_);
        view.status.importing = imports_open_ != 0;
    }
    view.status.initial_download =
        initial_download_.holds(view.status.tip_time, view.tip_work, view.status.importing);
    return std::move(view.status);
}

void ChainThread::stop() {
    {
        const MutexLock lock(queue_lock_);
        stopping_ = true;
        work_arrived_.notify_all();
        room_made_.notify_all();
    }
    const MutexLock join(join_lock_);
    if (thread_.joinable()) thread_.join();
}

void ChainThread::run() {
    while (auto work = next_work()) perform(std::move(*work));
    end_run();
}

std::optional<ChainThread::Work> ChainThread::take_queued_locked() {
    if (!calls_.empty()) {
        Work work = std::move(calls_.front());
        calls_.pop_front();
        return work;
    }
    if (prune_due_) return Prune{};
    if (waiting_ready_) return TakeUpWaiting{};
    // In turns with blocks: neither may hold up the other.
    if (coins_ready_ && (imports_.empty() || std::exchange(coins_turn_, false))) return MakeCoins{};
    if (imports_.empty()) return std::nullopt;
    coins_turn_ = true;
    Work work = std::move(imports_.front());
    imports_.pop_front();
    if (const auto* block = std::get_if<ImportBlock>(&std::get<ImportItem>(work))) {
        import_bytes_ -= block->cost;
        room_made_.notify_all();
    }
    return work;
}

/// The next piece of work, as soon as there is one. Nothing: shutting down.
std::optional<ChainThread::Work> ChainThread::next_work() {
    MutexLock lock(queue_lock_);
    const auto idle_since = std::chrono::steady_clock::now();
    while (!stopping_) {
        if (auto work = take_queued_locked()) return work;
        if (unsettled_) {
            if (!work_arrived_.wait_until(queue_lock_, idle_since + kSettleAfter)) return Settle{};
        } else if (!commit_deadline_) {
            work_arrived_.wait(queue_lock_);
        } else if (!work_arrived_.wait_until(queue_lock_,
                                             std::min(*commit_deadline_, idle_since + kImportIdle))) {
            return Commit{};
        }
    }
    return std::nullopt;
}

void ChainThread::perform(Work work) {
    MutexLock chain(chain_lock_);
    {
        const MutexLock lock(queue_lock_);
        core_->set_importing(imports_open_ != 0);
        core_->set_more_coming(!imports_.empty());
    }
    if (auto* task = std::get_if<std::shared_ptr<Task>>(&work)) {
        perform_task(**task);
    } else if (auto* item = std::get_if<ImportItem>(&work)) {
        perform_import(*item);
    } else if (std::holds_alternative<TakeUpWaiting>(work)) {
        static_cast<void>(core_->take_up_waiting());  // An Error halts the core: noted below.
        static_cast<void>(core_->finish(false));
    } else if (std::holds_alternative<Settle>(work)) {
        core_->settle();
    } else if (std::holds_alternative<MakeCoins>(work)) {
        core_->set_more_coming(true);
        static_cast<void>(core_->make_coins());
        static_cast<void>(core_->finish(false));
    } else if (std::holds_alternative<Prune>(work)) {
        core_->prune_automatically();
        static_cast<void>(core_->finish(false));
    } else {
        static_cast<void>(core_->finish(true));
    }
    note_state_after_work();
}

void ChainThread::perform_task(Task& task) {
    auto outcome = task.work(*core_);
    // Also after an Error about the argument: the answer may rest on what is not durable yet.
    auto finished = task.attended ? core_->finish(true) : core_->finish_unattended();
    if (outcome && !finished) outcome = std::move(finished);
    complete(task, std::move(outcome));
}

void ChainThread::perform_import(ImportItem& item) {
    if (auto* block = std::get_if<ImportBlock>(&item)) {
        static_cast<void>(core_->import_block(block->block));
        static_cast<void>(core_->finish(false));
    } else if (auto* delivery = std::get_if<Delivery>(&item)) {
        const auto delivered = core_->deliver_block(delivery->block);
        static_cast<void>(core_->finish(false));
        if (delivered) delivery->done(*delivered);
    } else if (auto* mark = std::get_if<ImportMark>(&item)) {
        static_cast<void>(core_->mark_import(std::move(mark->key), std::move(mark->value)));
        static_cast<void>(core_->finish(false));
    } else {
        {
            const MutexLock lock(queue_lock_);
            if (imports_open_ != 0) --imports_open_;
            core_->set_importing(imports_open_ != 0);
        }
        perform_task(*std::get<ImportEnd>(item).task);
    }
}

void ChainThread::complete(Task& task, Result<void> outcome) {
    const MutexLock lock(queue_lock_);
    if (!outcome && stopping_ && outcome.error().code != Errc::outcome_unknown)
        outcome = std::unexpected(stopped());
    task.outcome = std::move(outcome);
    task_done_.notify_all();
}

void ChainThread::note_state_after_work() {
    const MutexLock lock(queue_lock_);
    halted_ = core_->halted();
    waiting_ready_ = !halted_ && core_->has_ready_waiting();
    prune_due_ = !halted_ && core_->prune_due();
    coins_ready_ = !halted_ && core_->has_coins_to_make();
    commit_deadline_.reset();
    if (!halted_ && core_->dirty()) commit_deadline_ = core_->commit_deadline();
    unsettled_ = !halted_ && !commit_deadline_ && core_->unsettled();
    if (halted_) room_made_.notify_all();
}

bool ChainThread::wait(std::chrono::milliseconds time) {
    if (!started_) return false;
    const auto deadline = std::chrono::steady_clock::now() + time;
    // Others may show that they need no chain lock while the disk is full.
    chain_lock_.unlock();
    bool stopping = false;
    {
        MutexLock lock(queue_lock_);
        while (!stopping_ && work_arrived_.wait_until(queue_lock_, deadline)) {
        }
        stopping = stopping_;
    }
    chain_lock_.lock();
    return !stopping;
}

void ChainThread::end_run() {
    {
        const MutexLock chain(chain_lock_);
        static_cast<void>(core_->finish(true));
    }
    const MutexLock lock(queue_lock_);
    const auto give_up = [&](Task& task) { task.outcome = std::unexpected(stopped()); };
    for (const auto& task : calls_) give_up(*task);
    calls_.clear();
    for (const ImportItem& item : imports_) {
        if (const auto* end = std::get_if<ImportEnd>(&item)) give_up(*end->task);
    }
    imports_.clear();
    task_done_.notify_all();
}

}  // namespace blockpub
