// SPDX-License-Identifier: MIT
#include "query/facts_cache.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace blockpub {

Result<std::shared_ptr<const StoredFacts>> StoredFacts::open(SharedBytes bytes) {
    auto view = FactsView::open(bytes.bytes());
    if (!view) return forward_error(view);
    return std::make_shared<const StoredFacts>(std::move(bytes), *view);
}

const MerkleTree& StoredFacts::tree() const& {
    std::call_once(tree_made_, [this] {
        std::vector<Digest256> leaves(view_.count());
        for (std::size_t i = 0; i < leaves.size(); ++i) std::ranges::copy(view_.txid(i), leaves[i].begin());
        tree_ = MerkleTree(std::move(leaves));
    });
    return tree_;
}

Result<std::shared_ptr<const StoredFacts>> FactsCache::get(const Store& store, const BlobPlace& place) {
    const Key key(place.segment, place.number);
    {
        const MutexLock lock(mutex_);
        if (const auto found = kept_.find(key); found != kept_.end()) return found->second;
    }
    auto bytes = store.read_blob(place);
    if (!bytes) return forward_error(bytes);
    auto facts = StoredFacts::open(*std::move(bytes));
    if (facts) put(key, *facts);
    return facts;
}

void FactsCache::put(const Key& key, const std::shared_ptr<const StoredFacts>& facts) {
    std::vector<std::shared_ptr<const StoredFacts>> dropped;  // freed without the lock
    const MutexLock lock(mutex_);
    if (facts->memory() > capacity_ || !kept_.emplace(key, facts).second) return;
    order_.push_back(key);
    bytes_ += facts->memory();
    while (bytes_ > capacity_) {
        const auto oldest = kept_.find(order_.front());
        bytes_ -= oldest->second->memory();
        dropped.push_back(std::move(oldest->second));
        kept_.erase(oldest);
        order_.pop_front();
    }
}

}  // namespace blockpub
