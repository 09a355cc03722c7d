// SPDX-License-Identifier: MIT
#pragma once

#include "base/log.hpp"
#include "chain/disconnected_transactions.hpp"
#include "chain/header_tree.hpp"
#include "chain/mempool_acceptance.hpp"
#include "chain/mempool_board.hpp"
#include "chain/mempool_follower.hpp"
#include "chain/mempool_pool.hpp"

#include <blockpub/result.hpp>

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace blockpub {

/// What became of a transaction that was handed in to be sent on.
struct SendOutcome {
    enum class Kind : std::uint8_t {
        sent,          ///< it is in the mempool, now or from before
        confirmed,     ///< its outputs are among the coins
        fee_too_high,  ///< more than the sender allows
        refused,
    };
    Kind kind = Kind::sent;
    TransactionRefusal refusal;
};

/// The mempool: follows the chain's steps, and takes transactions.
///
/// Thread safety: chain thread only; the board is for the others.
/// Ownership: borrows the board and what the options point to.
/// Blocking: reads coins.
/// Errors: corrupt, io, of the coins.
class Mempool final : public MempoolFollower {
 public:
    Mempool(const MempoolOptions& options, MempoolBoard& board);

    [[nodiscard]] bool follows_blocks() const override {
        return !pool_.graph().empty() || !pool_.deltas().empty() || disconnecting_ || pool_.has_risen();
    }
    void block_connected(const ParsedBlock& block) override;
    void block_disconnected(const ParsedBlock& block) override;
    void end_disconnects(const HeaderNode& tip, bool return_to_mempool) override;
    [[nodiscard]] std::vector<MempoolEvent> take_events() override { return pool_.take_events(); }
    void publish(const Tip& tip) override;

    // Transactions, on top of `tip`.

    /// sendrawtransaction: adds it unless it is there, for `max_fee` at most.
    [[nodiscard]] Result<SendOutcome> send(const TransactionRef& transaction, std::optional<Amount> max_fee,
                                           const HeaderNode& tip);
    /// What `send` would answer; of the limit on memory it knows nothing.
    [[nodiscard]] Result<SendOutcome> test_send(const TransactionRef& transaction,
                                                std::optional<Amount> max_fee, const HeaderNode& tip);
    [[nodiscard]] Result<TransactionOutcome> accept(const TransactionRef& transaction,
                                                    const AcceptRules& rules, const HeaderNode& tip);
    [[nodiscard]] Result<PackageOutcome> test_package(std::span<const TransactionRef> package,
                                                      const HeaderNode& tip);
    [[nodiscard]] Result<PackageOutcome> submit_package(std::span<const TransactionRef> package,
                                                        std::optional<FeeRate> max_rate,
                                                        const HeaderNode& tip);

    [[nodiscard]] MempoolPool& pool() { return pool_; }
    /// The file of an earlier run has been read, or there was none to read.
    void set_loaded() { loaded_ = true; }

 private:
    void return_disconnected(const HeaderNode& tip, bool return_to_mempool);
    void remove_what_no_longer_holds(const HeaderNode& tip);
    [[nodiscard]] bool still_holds(MempoolEntry& entry, const HeaderNode& tip);
    [[nodiscard]] bool spends_immature(const MempoolEntry& entry, const HeaderNode& tip) const;
    [[nodiscard]] std::optional<LockPoints> new_lock_points(const MempoolEntry& entry,
                                                            const HeaderNode& tip) const;

    const MempoolOptions options_;
    MempoolBoard& board_;
    const Log log_;
    MempoolPool pool_;
    DisconnectedTransactions disconnected_;
    bool disconnecting_ = false;  // the step under way has taken a block back
    bool loaded_ = false;
};

}  // namespace blockpub
