// SPDX-License-Identifier: MIT
#include "store/cache_loads.hpp"

#include <utility>

namespace blockpub {

CacheLoads::Entered CacheLoads::enter(const CacheKey& key, const std::function<Object()>& find) {
    Shard& shard = shard_of(key.hash);
    const MutexLock lock(shard.mutex);
    if (const auto found = shard.loads.find(key); found != shard.loads.end()) {
        const LoadPtr load = found->second;
        joined_.fetch_add(1, std::memory_order_relaxed);
        while (!load->result) load->done.wait(shard.mutex);
        return *load->result;
    }
    if (Object object = find()) return object;
    return shard.loads.emplace(key, std::make_shared<Load>()).first->second;
}

void CacheLoads::finish(const CacheKey& key, const LoadPtr& load, Result<CachedPart> result) {
    Shard& shard = shard_of(key.hash);
    const MutexLock lock(shard.mutex);
    const bool failed = !result.has_value();
    load->result.emplace(std::move(result));
    load->done.notify_all();
    if (!failed) return;
    const auto found = shard.loads.find(key);
    if (found != shard.loads.end() && found->second == load) shard.loads.erase(found);
}

void CacheLoads::leave(const CacheKey& key, const LoadPtr& load) {
    Shard& shard = shard_of(key.hash);
    const MutexLock lock(shard.mutex);
    const auto found = shard.loads.find(key);
    if (found != shard.loads.end() && found->second == load) shard.loads.erase(found);
}

bool CacheLoads::forget(const BlockHash& hash) {
    Shard& shard = shard_of(hash);
    const MutexLock lock(shard.mutex);
    bool any = false;
    for (const BlockPart part : kBlockParts) {
        const auto found = shard.loads.find({hash, part});
        if (found == shard.loads.end()) continue;
        found->second->forgotten = true;
        shard.loads.erase(found);
        any = true;
    }
    return any;
}

}  // namespace blockpub
