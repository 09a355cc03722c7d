// SPDX-License-Identifier: MIT
#include "store/table_env.hpp"

namespace blockpub {

std::pair<int, lmdb::Txn> TableEnv::begin_read() {
    lmdb::Txn txn;
    {
        const MutexLock lock(mutex_);
        if (!parked_.empty()) {
            txn = std::move(parked_.back());
            parked_.pop_back();
        }
    }
    if (!txn.is_open()) return lmdb::Txn::begin(ref(), MDB_RDONLY);
    const int code = txn.renew();
    return {code, std::move(txn)};
}

void TableEnv::end_read(lmdb::Txn txn) noexcept {
    constexpr std::size_t kMostParked = 64;
    txn.park();
    const MutexLock lock(mutex_);
    if (parked_.size() < kMostParked) parked_.push_back(std::move(txn));
}

}  // namespace blockpub
