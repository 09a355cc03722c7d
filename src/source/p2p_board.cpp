// SPDX-License-Identifier: MIT
#include "source/p2p_board.hpp"

#include <utility>

namespace blockpub {

void PeerBoard::show(std::vector<PeerRow> rows, const Totals& totals) {
    const MutexLock lock(mutex_);
    rows_ = std::move(rows);
    totals_ = totals;
}

std::vector<PeerRow> PeerBoard::rows() const {
    const MutexLock lock(mutex_);
    return rows_;
}

PeerList::Totals PeerBoard::totals() const {
    const MutexLock lock(mutex_);
    return totals_;
}

void PeerBoard::show(const Lag& lag, const Counters& counters) {
    const MutexLock lock(mutex_);
    lag_ = lag;
    counters_ = counters;
}

PeerList::Lag PeerBoard::lag() const {
    const MutexLock lock(mutex_);
    return lag_;
}

PeerList::Counters PeerBoard::counters() const {
    const MutexLock lock(mutex_);
    return counters_;
}

}  // namespace blockpub
