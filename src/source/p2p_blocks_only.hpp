// SPDX-License-Identifier: MIT
#pragma once

#include "chain/services.hpp"

#include <atomic>

namespace blockpub {

/// With -blocksonly nothing is handed to the nodes that are followed. None can then say that it has taken a
/// transaction, so none enters the mempool either: scripts are not run here.
///
/// Thread safety: every method from any thread. Blocking: never.
class BlocksOnlySender final : public TransactionSender {
 public:
    void set_following(bool following) { following_ = following; }
    [[nodiscard]] bool is_following() const override { return following_; }
    [[nodiscard]] Result<void> hand_out(const TransactionRef&) override {
        return fail(Errc::unavailable, "with -blocksonly no transactions are handed to nodes");
    }
    [[nodiscard]] bool is_on_its_way(const Txid&) const override { return false; }

 private:
    std::atomic<bool> following_{false};
};

}  // namespace blockpub
