// SPDX-License-Identifier: MIT
#pragma once

#include "base/log.hpp"
#include "chain/mempool_keeper.hpp"
#include "daemon/options.hpp"
#include "daemon/stop_request.hpp"
#include "daemon/task.hpp"
#include "store/coin_store.hpp"

#include <memory>
#include <optional>

namespace blockpub {

/// The mempool of a node: what the chain thread works on, what others see of it, and its file.
///
/// Thread safety: open, load and close from one thread; what the accessors give is for all.
/// Ownership: borrows what it is made with, and the chain from `open` on; owns all else.
class MempoolParts {
 public:
    MempoolParts(const NodeOptions& options, const CoinStore& coins, const Clock& clock, Logger& logger);

    /// For ChainOptions::mempool.
    [[nodiscard]] MempoolFollower& follower() { return mempool_; }
    /// Lets others in. Requires: the chain runs.
    void open(Chain& chain);
    /// Takes in what an earlier run left, on a thread of its own.
    void load(const StopRequest& stop_request);
    /// Writes the file, where that is wanted and loading was finished. Requires: the chain thread has ended.
    void close();

    [[nodiscard]] const MempoolBoard& board() const { return board_; }
    [[nodiscard]] MempoolService& service() { return *service_; }
    [[nodiscard]] MempoolKeeper& keeper() { return *keeper_; }

 private:
    const MempoolOptions options_;
    const bool persist_;
    const std::filesystem::path file_;
    Logger& logger_;
    MempoolBoard board_;
    Mempool mempool_;
    std::optional<MempoolService> service_;
    std::optional<MempoolKeeper> keeper_;
    std::optional<Task> loading_;
};

}  // namespace blockpub
