// SPDX-License-Identifier: MIT
#include "store/cache_table.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <bit>

namespace blockpub {

CacheNode::CacheNode(const CacheKey& of, const CachedPart& part, std::size_t copies)
    : key(of), bytes(part.bytes + overhead(copies)), segment(part.segment) {
    handles.reserve(copies);
    for (std::size_t i = 0; i < copies; ++i) {
        auto handle = std::make_shared<Handle>();
        handle->object = part.object;
        handles.push_back(std::move(handle));
    }
}

std::size_t CacheNode::overhead(std::size_t copies) {
    constexpr std::size_t kCounts = 64;  // of references, on a line of their own before the handle
    return sizeof(CacheNode) + copies * (sizeof(Handle) + kCounts + sizeof(std::shared_ptr<const Handle>));
}

std::uint64_t CacheNode::count_uses(Time now, Time::duration half_life) {
    std::uint64_t fresh = 0;
    for (const auto& handle : handles) fresh += handle->uses.exchange(0, std::memory_order_relaxed);
    const auto lives = static_cast<std::uint64_t>(std::max<Time::rep>((now - counted) / half_life, 0));
    // When in this time the fresh ones came is not known: taken as spread over it, all but the last count
    // half or less.
    uses = (lives < 64 ? uses >> lives : 0) + fresh / (lives + 1);
    counted += half_life * static_cast<Time::rep>(lives);
    return uses;
}

CacheTable::CacheTable(std::size_t buckets, std::size_t copies, unsigned processors)
    : epochs_(processors),
      mask_(std::bit_ceil(buckets) - 1),
      copies_(std::bit_ceil(copies)),
      buckets_(std::make_unique<std::atomic<CacheNode*>[]>(mask_ + 1)) {}

CacheTable::~CacheTable() {
    for (std::size_t i = 0; i <= mask_; ++i) {
        for (CacheNode* node = buckets_[i].load(); node != nullptr;) {
            const std::unique_ptr<CacheNode> owned(node);
            node = owned->next.load();
        }
    }
}

CacheNode* CacheTable::walk(CacheNode* node, const CacheKey& key) {
    while (node != nullptr && node->key != key) node = node->next.load();
    return node;
}

std::shared_ptr<const void> CacheTable::find(const CacheKey& key) {
    ReadEpochs::Stay stay(epochs_);
    const CacheNode* const node = walk(bucket(key).load(), key);
    if (node == nullptr) return nullptr;
    stay.count_hit();
    const auto& handle = node->handles[stay.processor() & (copies_ - 1)];
    // Not one step: a use that is lost when two threads count at a time does not matter.
    handle->uses.store(handle->uses.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return {handle, handle->object.get()};
}

bool CacheTable::contains(const CacheKey& key) {
    const ReadEpochs::Stay stay(epochs_);
    return walk(bucket(key).load(), key) != nullptr;
}

CacheNode* CacheTable::locate(const CacheKey& key) const {
    return walk(bucket(key).load(), key);
}

void CacheTable::link(std::unique_ptr<CacheNode> node) {
    std::atomic<CacheNode*>& head = bucket(node->key);
    node->next.store(head.load());
    head.store(node.release());
}

void CacheTable::unlink(CacheNode& node) {
    std::atomic<CacheNode*>* at = &bucket(node.key);
    while (at->load() != &node) {
        CacheNode* const other = at->load();
        BLOCKPUB_CHECK(other != nullptr);
        at = &other->next;
    }
    // A reader that stands on the node still finds its way on.
    at->store(node.next.load());
    unlinked_.emplace_back(&node);
}

void CacheTable::retire() {
    if (unlinked_.empty()) return;
    const std::uint64_t epoch = epochs_.advance();
    const MutexLock lock(retired_mutex_);
    for (auto& node : unlinked_) retired_.emplace_back(epoch, std::move(node));
    unlinked_.clear();
}

void CacheTable::reclaim() {
    std::vector<Retired> freed;  // without the lock
    const std::uint64_t oldest = epochs_.oldest();
    const MutexLock lock(retired_mutex_);
    const auto rest = std::partition(retired_.begin(), retired_.end(),
                                     [&](const Retired& one) { return one.first >= oldest; });
    std::move(rest, retired_.end(), std::back_inserter(freed));
    retired_.erase(rest, retired_.end());
}

}  // namespace blockpub
