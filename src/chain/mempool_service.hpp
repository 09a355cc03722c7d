// SPDX-License-Identifier: MIT
#pragma once

#include "chain/chain.hpp"
#include "chain/mempool.hpp"
#include "chain/mempool_file.hpp"

#include <blockpub/result.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace blockpub {

/// How a file of transactions came in.
struct MempoolLoadCounts {
    std::uint64_t accepted = 0;
    std::uint64_t refused = 0;
    std::uint64_t expired = 0;
    std::uint64_t already_there = 0;
    std::uint64_t unbroadcast = 0;
};

/// The mempool for other threads: each call that is not const is carried out by the chain thread, between
/// its steps, and returns when what it changed can be read and has been told.
///
/// Thread safety: every method from any thread.
/// Ownership: borrows all that it is made with.
/// Blocking: until the chain thread is done; reading the board is what needs no waiting.
/// Errors: stopped; outcome_unknown once writing has stopped for good; corrupt, io, of the coins.
class MempoolService {
 public:
    MempoolService(Chain& chain, Mempool& mempool, const MempoolBoard& board, const MempoolOptions& options)
        : chain_(chain), mempool_(mempool), board_(board), options_(options) {}

    [[nodiscard]] const MempoolBoard& board() const { return board_; }

    [[nodiscard]] Result<SendOutcome> send(const TransactionRef& transaction, std::optional<Amount> max_fee);
    /// As transactions from elsewhere come in.
    [[nodiscard]] Result<TransactionOutcome> accept(const TransactionRef& transaction,
                                                    const AcceptRules& rules = {});
    using Outcomes = std::vector<Result<TransactionOutcome>>;
    /// As accept, of several in their order, but returns at once. `done` is called on the chain thread and
    /// must not wait; not at all when the chain stops first.
    [[nodiscard]] Result<void> post(std::vector<TransactionRef> transactions,
                                    std::function<void(Outcomes)> done, const AcceptRules& rules = {});
    /// What `send` would answer, without letting the transaction in.
    [[nodiscard]] Result<SendOutcome> test_send(const TransactionRef& transaction,
                                                std::optional<Amount> max_fee);
    /// testmempoolaccept. Requires: not empty.
    [[nodiscard]] Result<PackageOutcome> test(const std::vector<TransactionRef>& transactions);
    [[nodiscard]] Result<PackageOutcome> submit_package(const std::vector<TransactionRef>& package,
                                                        std::optional<FeeRate> max_rate);

    /// Adds to the fee that counts for a transaction, here or not yet.
    [[nodiscard]] Result<void> prioritise(const Txid& txid, Amount delta);

    /// What a file of the mempool as it is now holds, parents before children. Read off the board: the chain
    /// thread may be busy, or have ended.
    [[nodiscard]] MempoolFileContents contents() const;
    /// Takes the transactions in, a few at a time so that blocks are not held up. `stop` is asked in between.
    [[nodiscard]] Result<MempoolLoadCounts> load(const MempoolFileContents& contents,
                                                 const std::function<bool()>& stop);
    /// There is nothing (more) to load: the mempool is as full as it was when it was saved.
    [[nodiscard]] Result<void> set_loaded();

 private:
    [[nodiscard]] Result<MempoolLoadCounts> load_some(std::vector<MempoolFileContents::Item> items);
    [[nodiscard]] Result<std::uint64_t> load_marks(const MempoolFileContents& contents);

    Chain& chain_;
    Mempool& mempool_;
    const MempoolBoard& board_;
    const MempoolOptions options_;
};

}  // namespace blockpub
