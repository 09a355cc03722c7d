// SPDX-License-Identifier: MIT
#include "store/recent_blocks.hpp"

namespace blockpub {

void RecentBlocks::put(const BlockHash& hash, SharedBytes raw) {
    if (raw.size() > capacity_) return;
    const MutexLock lock(mutex_);
    const std::size_t size = raw.size();
    if (!blocks_.try_emplace(hash, std::move(raw)).second) return;
    order_.push_back(hash);
    bytes_ += size;
    while (bytes_ > capacity_) {
        const auto oldest = blocks_.find(order_.front());
        bytes_ -= oldest->second.size();
        blocks_.erase(oldest);
        order_.pop_front();
    }
}

Result<SharedBytes> RecentBlocks::read_block(const BlockHash& hash) {
    {
        const MutexLock lock(mutex_);
        if (const auto found = blocks_.find(hash); found != blocks_.end()) return found->second;
    }
    auto raw = behind_.read_block(hash);
    if (raw) put(hash, *raw);
    return raw;
}

Result<MappedBytes> RecentBlocks::map_block(const BlockHash& hash) {
    return behind_.map_block(hash);
}

}  // namespace blockpub
