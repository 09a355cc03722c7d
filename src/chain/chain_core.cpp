// SPDX-License-Identifier: MIT
#include "chain/chain_core.hpp"

#include "base/check.hpp"
#include "chain/block_checks.hpp"
#include "chain/coins_catch_up.hpp"
#include "chain/stored_block.hpp"
#include "chain/submitted_block.hpp"

#include <fmt/format.h>

#include <utility>

namespace blockpub {
namespace {

/// So many blocks behind the best header are a burst at the tip: each is told of by itself.
constexpr std::uint32_t kNearlyThere = 16;

BlockOutcome rejection_of(const Rejection& broken) {
    return {BlockOutcome::Kind::rejected, broken.reason};
}

Tip tip_of(const HeaderNode& node) {
    return {.hash = node.hash, .height = node.height};
}

}  // namespace

std::string BlockOutcome::bip22() const {
    switch (kind) {
        case Kind::connected:
            return {};
        case Kind::duplicate:
            return "duplicate";
        case Kind::duplicate_invalid:
            return "duplicate-invalid";
        case Kind::duplicate_inconclusive:
            return "duplicate-inconclusive";
        case Kind::inconclusive:
            return "inconclusive";
        case Kind::rejected:
            return reason.empty() ? "rejected" : reason;
    }
    return {};
}

ChainCore::ChainCore(const ChainOptions& options, CoinsEngine& coins, InitialDownload& initial_download,
                     RetryWait& wait, ChainMonitor& monitor)
    : options_(options),
      coins_(coins),
      mempool_(options.mempool == nullptr ? no_mempool_ : *options.mempool),
      initial_download_(initial_download),
      wait_(wait),
      monitor_(monitor),
      log_(options.logger, LogCategory::chain),
      waiting_(options.waiting_limit) {}

Result<std::unique_ptr<ChainCore>> ChainCore::open(const ChainOptions& options, CoinsEngine& coins,
                                                   InitialDownload& initial_download, RetryWait& wait,
                                                   ChainMonitor& monitor) {
    std::unique_ptr<ChainCore> core(new ChainCore(options, coins, initial_download, wait, monitor));
    if (auto loaded = core->load(); !loaded) return forward_error(loaded);
    return core;
}

Result<void> ChainCore::load() {
    auto state = ChainState::load(*options_.store);
    if (!state) return forward_error(state);
    state_ = std::move(*state);
    writer_ = std::make_unique<StepWriter>(options_, wait_, monitor_, state_->changes().next_event());
    acceptance_.emplace(*options_.params, *options_.clock, *state_, *options_.store);
    activation_.emplace(*state_, coins_, mempool_, *options_.store, static_cast<ActivationHost&>(*this),
                        log_);
    const HeaderNode* const genesis = state_->tree().genesis();
    if (genesis != nullptr && genesis->hash != options_.params->genesis_hash) {
        return fail(Errc::invalid_argument,
                    fmt::format("the store holds another chain than {}", options_.params->name));
    }
    if (auto loaded = waiting_.load(*options_.store); !loaded) return loaded;
    for (const BlockHash& parent : waiting_.parents()) header_arrived(parent);
    import_.waiting = waiting_.count();
    publish_import();
    if (auto loaded = load_start(); !loaded) return loaded;
    pruner_.emplace(options_.prune, *state_, waiting_, *options_.store, log_);
    if (auto loaded = pruner_->load(start_->base() != nullptr); !loaded) return loaded;
    monitor_.set_pruned_to(pruner_->pruned_to());
    if (genesis == nullptr) {
        if (auto connected = connect_genesis(); !connected) return connected;
    } else if (auto caught_up = catch_up_coins(); !caught_up) {
        return caught_up;
    } else if (auto activated = activate(nullptr); !activated) {
        return forward_error(activated);
    }
    return finish(true);
}

Result<void> ChainCore::connect_genesis() {
    if (const auto coins = coins_.stored_tip()) {
        return fail(Errc::corrupt,
                    fmt::format("there are coins of block {}, but no chain: remove the directory `coins`",
                                coins->hash.display_hex()));
    }
    auto block = ParsedBlock::parse(SharedBytes::copy_of(options_.params->genesis));
    BLOCKPUB_CHECK(block.has_value() && block->hash() == options_.params->genesis_hash);
    const CheckedBlock checked = CheckedBlock::check(std::move(*block), *options_.params);
    const auto accepted = acceptance_->accept_block(checked);
    if (!accepted) return std::unexpected(accepted.error());
    BLOCKPUB_CHECK(accepted->fresh, "genesis: {}",
                   accepted->rejection ? accepted->rejection->reason : "known");
    if (auto activated = activate(&checked.block); !activated) return forward_error(activated);
    return {};
}

/// Brings the coins from the tip they were written with to the active tip.
Result<void> ChainCore::catch_up_coins() {
    if (options_.coins == nullptr) return {};
    const auto reached = [this](const HeaderNode& node) { return coins_reached(node); };
    if (!start_->filling()) return roll_coins(*state_, coins_, *options_.store, log_, reached);
    const auto at = roll_back_coins(*state_, coins_, *options_.store, reached);
    if (!at) return std::unexpected(at.error());
    if (*at != state_->active().tip()) {
        coins_.fall_behind(*at);
        return {};
    }
    coins_.show(tip_of(**at));
    start_->finish();
    publish_start();
    return {};
}

Result<void> ChainCore::coins_reached(const HeaderNode& reached) {
    if (!state_->changes().empty()) writer_->add(state_->changes().take());
    coins_.show(tip_of(reached));
    const bool stopping = options_.stop_requested && options_.stop_requested();
    // Where undo data and facts are there already, nothing waits for a commit.
    const bool due = stopping || !writer_->dirty() || writer_->commit_due() || coins_.commit_due();
    if (auto done = due ? commit() : Result<void>{}; !done) return done;
    settle();
    if (!stopping) return {};
    return fail(Errc::stopped, fmt::format("stopped at height {} of making coins", reached.height.value));
}

std::unexpected<Error> ChainCore::halt(Error error) {
    if (!halted_) {
        halted_ = error;
        if (error.code == Errc::outcome_unknown) monitor_.set_write_stopped(error.context);
        // The others have been told of where they arose, or concern nobody.
        if (error.code == Errc::corrupt || error.code == Errc::unavailable) {
            log_.error("{}; no block is taken from here on, what is there can still be read", error.context);
            monitor_.set_halted(error.context);
        }
    }
    return std::unexpected(std::move(error));
}

Result<std::optional<Verdict>> ChainCore::activate(const ParsedBlock* fresh) {
    auto activated = activation_->activate_best_chain(fresh);
    if (!activated) return halt(std::move(activated.error()));
    return activated;
}

Result<HeaderNode*> ChainCore::find_block(const BlockHash& hash) const {
    if (HeaderNode* const node = state_->tree().find(hash)) return node;
    return fail(Errc::not_found, "Block not found");
}

Result<BlockOutcome> ChainCore::submit_block(CheckedBlock checked) {
    if (halted_) return std::unexpected(*halted_);
    using enum BlockOutcome::Kind;
    if (const HeaderNode* const known = state_->tree().find(checked.block.hash())) {
        if (known->failed()) return BlockOutcome{duplicate_invalid, {}};
        const bool left_out = state_->active().contains(*known) && !start_->filling();
        if (known->connected_once() || left_out) return BlockOutcome{duplicate, {}};
    }
    if (!checked.context_free) complete_witness(checked);
    const ParsedBlock& block = checked.block;
    const auto accepted = acceptance_->accept_block(checked);
    if (!accepted) return halt(accepted.error());
    header_arrived(block.hash());
    if (accepted->rejection) return rejection_of(*accepted->rejection);
    if (!importing_) options_.store->write_ahead();
    const auto verdict = activate(&block);
    if (!verdict) return std::unexpected(verdict.error());
    if (!accepted->fresh) return BlockOutcome{duplicate, {}};
    if (!*verdict) return BlockOutcome{inconclusive, {}};
    if (const Verdict& broken = **verdict) return rejection_of(*broken);
    return BlockOutcome{connected, {}};
}

/// As Core's submitblock does for miners that leave the coinbase's witness out.
void ChainCore::complete_witness(CheckedBlock& checked) const {
    const HeaderNode* const parent = state_->tree().find(checked.block.header().previous);
    if (parent == nullptr || parent->height.next() < options_.params->segwit_height) return;
    if (auto completed = complete_coinbase_witness(checked.block)) {
        checked = CheckedBlock::with_completed_coinbase(std::move(*completed));
    }
}

Result<void> ChainCore::submit_header(const BlockHeader& header) {
    if (halted_) return std::unexpected(*halted_);
    if (state_->tree().find(header.previous) == nullptr) {
        return fail(Errc::invalid_argument,
                    fmt::format("Must submit previous header ({}) first", header.previous.display_hex()));
    }
    const BlockHash hash = header.hash();
    const auto accepted = acceptance_->accept_header(header, hash);
    if (accepted.rejection) return fail(Errc::invalid_argument, accepted.rejection->reason);
    header_arrived(hash);
    return {};
}

Result<void> ChainCore::invalidate_block(const BlockHash& hash) {
    if (halted_) return std::unexpected(*halted_);
    const auto node = find_block(hash);
    if (!node) return std::unexpected(node.error());
    if ((*node)->height.value == 0) return {};
    const bool active = state_->active().contains(**node);
    if (const HeaderNode* const lost = active ? state_->pruned_above((*node)->previous) : nullptr) {
        return fail(Errc::unavailable,
                    fmt::format("the chain cannot be taken back to before that block: block {} at height {} "
                                "was pruned",
                                lost->hash.display_hex(), lost->height.value));
    }
    if (auto done = activation_->invalidate(**node); !done) return halt(std::move(done.error()));
    if (auto activated = activate(nullptr); !activated) return forward_error(activated);
    return {};
}

Result<void> ChainCore::reconsider_block(const BlockHash& hash) {
    if (halted_) return std::unexpected(*halted_);
    const auto node = find_block(hash);
    if (!node) return std::unexpected(node.error());
    state_->clear_failure(**node);
    if (auto activated = activate(nullptr); !activated) return forward_error(activated);
    return {};
}

Result<void> ChainCore::precious_block(const BlockHash& hash) {
    if (halted_) return std::unexpected(*halted_);
    const auto node = find_block(hash);
    if (!node) return std::unexpected(node.error());
    if (!state_->make_precious(**node)) return {};
    if (auto activated = activate(nullptr); !activated) return forward_error(activated);
    return {};
}

Result<std::string> ChainCore::test_block(const CheckedBlock& checked) {
    if (halted_) return std::unexpected(*halted_);
    HeaderNode& tip = *state_->active().tip();
    if (checked.block.header().previous != tip.hash) return std::string("inconclusive-not-best-prevblk");
    if (const Verdict broken = acceptance_->test_block(checked)) return broken->text();
    BlockUnderTest on_tip(checked.block, tip);
    return coins_.test(on_tip);
}

Result<void> ChainCore::import_block(const CheckedBlock& checked) {
    if (halted_) return std::unexpected(*halted_);
    const ParsedBlock& block = checked.block;
    const HeaderNode* const known = state_->tree().find(block.hash());
    const bool settled =
        known != nullptr && (known->block.present() || (known->pruned() && !start_->filling()));
    if (settled || waiting_.contains(block.hash())) {
        ++import_.known;
    } else if (checked.context_free) {
        ++import_.invalid;
        log_.warning("import: block {} is invalid: {}", block.hash().display_hex(),
                     checked.context_free->text());
    } else if (known == nullptr && state_->tree().find(block.header().previous) == nullptr) {
        if (auto kept = keep_waiting(block); !kept) return kept;
    } else if (auto imported = import_with_parent(checked, std::nullopt); !imported) {
        return imported;
    }
    publish_import();
    return {};
}

Result<DeliveredBlock> ChainCore::deliver_block(const CheckedBlock& checked) {
    if (halted_) return std::unexpected(*halted_);
    using Kind = DeliveredBlock::Kind;
    const auto refused = [](const Rejection& broken) {
        if (broken.kind == Rejection::Kind::missing_previous)
            return DeliveredBlock{Kind::stranded, false, {}};
        return DeliveredBlock{Kind::rejected, broken.kind == Rejection::Kind::mutated, broken.text()};
    };
    const ParsedBlock& block = checked.block;
    const auto accepted = acceptance_->accept_block(checked);
    if (!accepted) return halt(accepted.error());
    header_arrived(block.hash());
    if (accepted->rejection) return refused(*accepted->rejection);
    if (!accepted->fresh) return DeliveredBlock{Kind::known, false, {}};
    note_filled(*accepted->node);
    if (!importing_ && !more_coming_) options_.store->write_ahead();
    const auto verdict = activate(&block);
    if (!verdict) return std::unexpected(verdict.error());
    if (*verdict && **verdict) return refused(***verdict);
    return DeliveredBlock{};
}

Result<void> ChainCore::at_headers(const std::function<void(HeaderDesk&)>& work) {
    if (halted_) return std::unexpected(*halted_);
    HeaderDesk desk(options_.minimum_chainwork, *state_, *acceptance_, *start_,
                    [this](const BlockHash& hash) { header_arrived(hash); });
    work(desk);
    if (pruner_->note_base(start_->base())) monitor_.set_pruned_to(pruner_->pruned_to());
    look_for_unreachable();
    return {};
}

Result<void> ChainCore::import_with_parent(const CheckedBlock& checked,
                                           const std::optional<BlobPlace>& stored) {
    const ParsedBlock& block = checked.block;
    const auto accepted = acceptance_->accept_block(checked, stored);
    if (!accepted) return halt(accepted.error());
    header_arrived(block.hash());
    if (accepted->rejection) {
        ++import_.invalid;
        log_.warning("import: block {} is invalid: {}", block.hash().display_hex(),
                     accepted->rejection->text());
        return {};
    }
    ++(accepted->fresh ? import_.accepted : import_.known);
    if (accepted->fresh) note_filled(*accepted->node);
    if (auto activated = activate(&block); !activated) return forward_error(activated);
    return {};
}

/// Stores a block whose parent is unknown. Its proof of work has been checked, so that filling the room costs
/// work.
Result<void> ChainCore::keep_waiting(const ParsedBlock& block) {
    if (!waiting_.has_room_for(block.raw().size())) {
        ++import_.turned_away;
        return {};
    }
    const auto place = options_.store->append_blob(block.raw());
    if (!place) return halt(place.error());
    waiting_.add(block.header().previous, {.hash = block.hash(), .place = *place}, state_->changes());
    import_.waiting = waiting_.count();
    return {};
}

void ChainCore::header_arrived(const BlockHash& hash) {
    if (waiting_.is_parent(hash) && state_->tree().find(hash) != nullptr) ready_parents_.push_back(hash);
}

Result<void> ChainCore::take_up_waiting() {
    if (halted_) return std::unexpected(*halted_);
    while (!ready_parents_.empty()) {
        const auto next = waiting_.next_child(ready_parents_.front());
        if (!next) {
            ready_parents_.pop_front();
            continue;
        }
        if (auto taken = take_up(*next); !taken) return taken;
        publish_import();
        return {};
    }
    return {};
}

Result<void> ChainCore::take_up(const WaitingBlocks::Waiting& waiting) {
    unsigned failures = 0;
    auto block = read_stored_block(*options_.store, waiting.place, waiting.hash);
    while (!block && block.error().code == Errc::io) {
        if (!wait_to_retry(block.error(), ++failures)) return halt(std::move(block.error()));
        block = read_stored_block(*options_.store, waiting.place, waiting.hash);
    }
    waiting_.remove(waiting.hash, state_->changes());
    import_.waiting = waiting_.count();
    if (!block) {
        log_.error("{}; it has to be imported again", block.error().context);
        return {};
    }
    return import_with_parent(CheckedBlock::check(std::move(*block), *options_.params), waiting.place);
}

Result<void> ChainCore::on_mempool(const std::function<Result<void>(const HeaderNode& tip)>& work) {
    if (halted_) return std::unexpected(*halted_);
    const HeaderNode& tip = *state_->active().tip();
    auto done = work(tip);
    // Also after an Error: what was told of must be readable, what was done must be told.
    mempool_.publish(tip_of(tip));
    writer_->release_mempool(mempool_.take_events());
    return done;
}

Result<void> ChainCore::mark_import(std::string key, std::string value) {
    if (halted_) return std::unexpected(*halted_);
    state_->changes().put_meta(std::move(key), std::move(value));
    return {};
}

Result<void> ChainCore::finish(bool durable) {
    if (halted_) return std::unexpected(*halted_);
    show_changes();
    const bool may_wait =
        std::exchange(nobody_waits_, false) && !writer_->commit_due() && !coins_.commit_due();
    if (!durable && (may_wait || !commit_now())) return {};
    if (auto committed = commit(); !committed) return halt(std::move(committed.error()));
    return {};
}

Result<void> ChainCore::finish_unattended() {
    if (halted_) return std::unexpected(*halted_);
    show_changes();
    if (!commit_due()) return {};
    if (auto committed = commit(); !committed) return halt(std::move(committed.error()));
    return {};
}

/// At the tip every step is committed by itself; in an import, or while it is far and more waits, when it is
/// time.
bool ChainCore::commit_now() const {
    return !(importing_ || (more_coming_ && far_behind())) || commit_due();
}

bool ChainCore::far_behind() const {
    const HeaderNode* const tip = state_->active().tip();
    return tip == nullptr || state_->best_header()->height.value > tip->height.value + kNearlyThere;
}

void ChainCore::show_changes() {
    if (std::exchange(waits_for_disk_, false)) {
        monitor_.set_write_error({});
        log_.info("the chain goes on");
    }
    if (!state_->changes().empty()) {
        auto changes = state_->changes().take();
        // Nobody waits for the blocks of an import, and they would push out those that are read.
        if (importing_) changes.cached.clear();
        writer_->add(std::move(changes));
    }
    if (const HeaderNode* const tip = state_->active().tip()) {
        coins_.show(tip_of(*tip));
        mempool_.publish(tip_of(*tip));
    }
    publish_chain();
}

Result<void> ChainCore::commit() {
    if (auto committed = writer_->commit(); !committed) return committed;
    note_committed();
    return {};
}

/// A step is told of before its undo data and facts are on the disk: the end of the piece of work writes
/// them, and a start makes them again where a crash was faster. Coins are not written before.
Result<void> ChainCore::commit_step() {
    const bool due = importing_ || writer_->commit_due();
    if (auto committed = due ? writer_->commit() : writer_->commit_step(); !committed) return committed;
    if (!writer_->dirty()) note_committed();
    return {};
}

void ChainCore::note_committed() {
    coins_.committed();
    prune_due_ = pruner_->excess() != 0;
    unsettled_ = true;
    if (importing_) settle();
}

void ChainCore::settle() {
    if (halted_ || writer_->dirty()) return;
    unsettled_ = coins_.settle();
}

void ChainCore::publish_chain() {
    const HeaderNode* const tip = state_->active().tip();
    if (tip == nullptr) return;
    monitor_.set_read_error({});
    if (unreachable_work_ && tip->chainwork >= *unreachable_work_) {
        unreachable_work_.reset();
        monitor_.set_unreachable({});
    }
    monitor_.set_chain(tip_of(*tip), tip->time, tip->chainwork, tip_of(*state_->best_header()));
}

void ChainCore::publish_import() {
    monitor_.set_import_counters(import_);
}

bool ChainCore::initial_download(const HeaderNode& tip) {
    return initial_download_.holds(tip.time, tip.chainwork, importing_);
}

Result<void> ChainCore::step_made() {
    show_changes();
    if (!commit_now()) return {};
    return commit_step();
}

bool ChainCore::wait_to_retry(const Error& error, unsigned failures) {
    if (error.code == Errc::disk_full) {
        waits_for_disk_ = true;
        monitor_.set_write_error(error.context);
    } else {
        monitor_.set_read_error(error.context);
    }
    if (failures == 1) log_.error("the chain stands still: {}; trying again until it works", error.context);
    RetryTimes times{options_.commit_retry_first, options_.commit_retry_longest};
    while (--failures != 0 && times.next < times.longest) static_cast<void>(times.take());
    return wait_.wait(times.take());
}

}  // namespace blockpub
