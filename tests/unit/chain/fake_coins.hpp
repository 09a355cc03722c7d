// SPDX-License-Identifier: MIT
#pragma once

#include "base/check.hpp"
#include "base/mutex.hpp"
#include "chain/coins_engine.hpp"
#include "chain/mempool_follower.hpp"
#include "support/block_builder.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace blockpub::test {

/// A coins engine that refuses the blocks it is told to, and checks that it is called in the order of a
/// chain. Thread safety: every method from any thread.
class FakeCoins final : public CoinsEngine {
 public:
    void refuse(const BlockHash& hash, std::string reason) {
        const MutexLock lock(mutex_);
        refused_[hash] = std::move(reason);
    }
    void accept_again(const BlockHash& hash) {
        const MutexLock lock(mutex_);
        refused_.erase(hash);
    }
    /// So many calls of connect fail with this Error before they do what they should.
    void fail_connects(unsigned count, Error error) {
        const MutexLock lock(mutex_);
        failures_ = count;
        failure_ = std::move(error);
    }
    void give_undo(SharedBytes undo) {
        const MutexLock lock(mutex_);
        undo_ = std::move(undo);
    }
    /// Reads and decodes every block that is connected.
    void read_blocks(bool reads) {
        const MutexLock lock(mutex_);
        reads_ = reads;
    }
    /// The blocks that are connected, oldest first.
    [[nodiscard]] std::vector<BlockHash> chain() const {
        const MutexLock lock(mutex_);
        return chain_;
    }
    [[nodiscard]] Bytes undo_seen() const {
        const MutexLock lock(mutex_);
        return undo_seen_;
    }

    [[nodiscard]] Result<Connected> connect(BlockInChain& block) override {
        const MutexLock lock(mutex_);
        BLOCKPUB_CHECK(block.height().value == chain_.size(), "{} on {}", block.height().value,
                       chain_.size());
        if (failures_ != 0) {
            --failures_;
            return std::unexpected(failure_);
        }
        if (reads_) {
            const auto parsed = block.parsed();
            if (!parsed) return std::unexpected(parsed.error());
            BLOCKPUB_CHECK((*parsed)->hash() == block.hash());
            BLOCKPUB_CHECK(chain_.empty() || (*parsed)->header().previous == chain_.back());
        }
        if (const auto refused = refused_.find(block.hash()); refused != refused_.end()) {
            return Connected{.reject_reason = refused->second, .undo = {}, .facts = {}};
        }
        chain_.push_back(block.hash());
        return Connected{.reject_reason = {}, .undo = undo_, .facts = {}};
    }
    [[nodiscard]] Result<void> disconnect(BlockInChain& block) override {
        const MutexLock lock(mutex_);
        BLOCKPUB_CHECK(!chain_.empty() && chain_.back() == block.hash());
        chain_.pop_back();
        if (const auto undo = block.undo()) undo_seen_.assign(undo->bytes().begin(), undo->bytes().end());
        return {};
    }
    [[nodiscard]] Result<std::string> test(BlockInChain& block) override {
        const MutexLock lock(mutex_);
        const auto refused = refused_.find(block.hash());
        return refused == refused_.end() ? std::string() : refused->second;
    }
    /// Its chain outlives a restart of the node: what was connected counts as written.
    [[nodiscard]] std::optional<Tip> stored_tip() const override {
        const MutexLock lock(mutex_);
        if (chain_.empty()) return std::nullopt;
        return Tip{.hash = chain_.back(), .height = {static_cast<std::uint32_t>(chain_.size() - 1)}};
    }

 private:
    mutable Mutex mutex_;
    std::map<BlockHash, std::string> refused_ BLOCKPUB_GUARDED_BY(mutex_);
    std::vector<BlockHash> chain_ BLOCKPUB_GUARDED_BY(mutex_);
    SharedBytes undo_ BLOCKPUB_GUARDED_BY(mutex_);
    Bytes undo_seen_ BLOCKPUB_GUARDED_BY(mutex_);
    Error failure_ BLOCKPUB_GUARDED_BY(mutex_);
    unsigned failures_ BLOCKPUB_GUARDED_BY(mutex_) = 0;
    bool reads_ BLOCKPUB_GUARDED_BY(mutex_) = false;
};

/// A mempool that notes what it is told, and gives one transaction back for each step that took blocks back.
/// Thread safety: every method from any thread.
class FakeMempool final : public MempoolFollower {
 public:
    void return_transactions(bool returns) {
        const MutexLock lock(mutex_);
        returns_ = returns;
    }
    void forget_calls() {
        const MutexLock lock(mutex_);
        end_calls_.clear();
    }
    [[nodiscard]] std::vector<bool> end_calls() const {
        const MutexLock lock(mutex_);
        return end_calls_;
    }

    [[nodiscard]] bool follows_blocks() const override { return true; }
    void block_connected(const ParsedBlock&) override {}
    void block_disconnected(const ParsedBlock&) override {
        const MutexLock lock(mutex_);
        ++disconnected_;
    }
    void end_disconnects(const HeaderNode&, bool return_to_mempool) override {
        const MutexLock lock(mutex_);
        if (std::exchange(disconnected_, 0) == 0) return;
        end_calls_.push_back(return_to_mempool);
        if (returns_) events_.emplace_back(TransactionAddedToMempool{});
    }
    [[nodiscard]] std::vector<MempoolEvent> take_events() override {
        const MutexLock lock(mutex_);
        return std::exchange(events_, {});
    }
    void publish(const Tip&) override {}

 private:
    mutable Mutex mutex_;
    std::vector<bool> end_calls_ BLOCKPUB_GUARDED_BY(mutex_);
    std::vector<MempoolEvent> events_ BLOCKPUB_GUARDED_BY(mutex_);
    unsigned disconnected_ BLOCKPUB_GUARDED_BY(mutex_) = 0;
    bool returns_ BLOCKPUB_GUARDED_BY(mutex_) = false;
};

}  // namespace blockpub::test
