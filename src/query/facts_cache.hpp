// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "chain/facts.hpp"
#include "primitives/merkle_tree.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace blockpub {

/// The facts of one block, checked once, and the merkle tree over its txids once somebody asks for it.
/// Thread safety: every method from any thread.
class StoredFacts {
 public:
    /// Errors: corrupt.
    [[nodiscard]] static Result<std::shared_ptr<const StoredFacts>> open(SharedBytes bytes);

    [[nodiscard]] const FactsView& view() const& { return view_; }
    [[nodiscard]] const MerkleTree& tree() const&;
    /// With the tree, whether it is there or not.
    [[nodiscard]] std::size_t memory() const { return bytes_.size() + 2 * 32 * view_.count(); }

    StoredFacts(SharedBytes bytes, const FactsView& view) : bytes_(std::move(bytes)), view_(view) {}

 private:
    const SharedBytes bytes_;
    const FactsView view_;  // of bytes_
    mutable std::once_flag tree_made_;
    mutable MerkleTree tree_;
};

/// The facts that were asked for last, up to a number of bytes: what makes questions about the same few
/// blocks cost neither a read nor a check of a checksum.
///
/// Thread safety: every method from any thread.
/// Blocking: reads the disk on a miss, without a lock held.
/// Errors: those of Store::read_blob; corrupt. Failures are not kept.
class FactsCache {
 public:
    explicit FactsCache(std::size_t capacity_bytes) : capacity_(capacity_bytes) {}

    [[nodiscard]] Result<std::shared_ptr<const StoredFacts>> get(const Store& store, const BlobPlace& place)
        BLOCKPUB_EXCLUDES(mutex_);

 private:
    using Key = std::pair<std::uint32_t, std::uint64_t>;  // segment and number

    void put(const Key& key, const std::shared_ptr<const StoredFacts>& facts) BLOCKPUB_EXCLUDES(mutex_);

    const std::size_t capacity_;
    Mutex mutex_;
    std::map<Key, std::shared_ptr<const StoredFacts>> kept_ BLOCKPUB_GUARDED_BY(mutex_);
    std::deque<Key> order_ BLOCKPUB_GUARDED_BY(mutex_);  // oldest first
    std::size_t bytes_ BLOCKPUB_GUARDED_BY(mutex_) = 0;
};

}  // namespace blockpub
