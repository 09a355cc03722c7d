// SPDX-License-Identifier: MIT
#include "store/recent_blocks.hpp"

namespace blockpub {

void RecentBlocks::put(const BlockHash& hash, SharedBytes raw) {
    const MutexLock lock(mutex_);
    put_locked(hash, std::move(raw));
}

void RecentBlocks::put_locked(const BlockHash& hash, SharedBytes raw) {
    const std::size_t size = raw.size();
    if (size > capacity_) return;
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
    std::shared_ptr<Load> load;
    {
        const MutexLock lock(mutex_);
        if (const auto found = blocks_.find(hash); found != blocks_.end()) return found->second;
        const auto [place, first] = loads_.try_emplace(hash);
        if (!first) {
            load = place->second;
            while (!load->result) loaded_.wait(mutex_);
            return *load->result;
        }
        load = place->second = std::make_shared<Load>();
    }
    // Those who wait must be let go whatever happens here.
    try {
        auto result = behind_.read_block(hash);
        finish_load(hash, load, result);
        return result;
    } catch (...) {
        finish_load(hash, load, fail(Errc::io, "reading the block ended with an exception"));
        throw;
    }
}

void RecentBlocks::finish_load(const BlockHash& hash, const std::shared_ptr<Load>& load,
                               Result<SharedBytes> result) {
    const MutexLock lock(mutex_);
    if (result) put_locked(hash, *result);
    load->result = std::move(result);
    loads_.erase(hash);
    loaded_.notify_all();
}

Result<MappedBytes> RecentBlocks::map_block(const BlockHash& hash) {
    return behind_.map_block(hash);
}

}  // namespace blockpub
