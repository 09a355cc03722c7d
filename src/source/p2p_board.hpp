// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "chain/services.hpp"

#include <vector>

namespace blockpub {

/// Peers as others see them, replaced as a whole.
/// Thread safety: every method from any thread. Blocking: never for longer than a copy takes.
class PeerBoard final : public PeerList {
 public:
    void show(std::vector<PeerRow> rows, const Totals& totals) BLOCKPUB_EXCLUDES(mutex_);
    void show(const Lag& lag, const Counters& counters) BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] std::vector<PeerRow> rows() const override BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] Totals totals() const override BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] Lag lag() const override BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] Counters counters() const override BLOCKPUB_EXCLUDES(mutex_);

 private:
    mutable Mutex mutex_;
    std::vector<PeerRow> rows_ BLOCKPUB_GUARDED_BY(mutex_);
    Totals totals_ BLOCKPUB_GUARDED_BY(mutex_);
    Lag lag_ BLOCKPUB_GUARDED_BY(mutex_);
    Counters counters_ BLOCKPUB_GUARDED_BY(mutex_);
};

}  // namespace blockpub
