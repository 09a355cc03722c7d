// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"

#include <blockpub/block_reader.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>

namespace blockpub {

/// The blocks that arrived or were read last, up to a number of bytes, in front of another reader: a block
/// just connected is not read from the disk again by those who announce it.
///
/// Thread safety: every method from any thread.
/// Ownership: borrows the reader behind it.
/// Blocking: a miss reads through, without a lock held; who asks for the same block meanwhile waits for that
/// read. Errors: those of the reader behind it; failures are not kept.
class RecentBlocks final : public BlockReader {
 public:
    RecentBlocks(BlockReader& behind, std::size_t capacity_bytes)
        : behind_(behind), capacity_(capacity_bytes) {}

    /// A block larger than the whole capacity is not kept.
    void put(const BlockHash& hash, SharedBytes raw) BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] Result<SharedBytes> read_block(const BlockHash& hash) override BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] Result<MappedBytes> map_block(const BlockHash& hash) override;

 private:
    /// A read under way. Its result is set once, under mutex_.
    struct Load {
        std::optional<Result<SharedBytes>> result;
    };

    void put_locked(const BlockHash& hash, SharedBytes raw) BLOCKPUB_REQUIRES(mutex_);
    void finish_load(const BlockHash& hash, const std::shared_ptr<Load>& load, Result<SharedBytes> result)
        BLOCKPUB_EXCLUDES(mutex_);

    BlockReader& behind_;
    const std::size_t capacity_;
    Mutex mutex_;
    CondVar loaded_;
    std::unordered_map<BlockHash, SharedBytes> blocks_ BLOCKPUB_GUARDED_BY(mutex_);
    std::deque<BlockHash> order_ BLOCKPUB_GUARDED_BY(mutex_);
    std::size_t bytes_ BLOCKPUB_GUARDED_BY(mutex_) = 0;
    std::unordered_map<BlockHash, std::shared_ptr<Load>> loads_ BLOCKPUB_GUARDED_BY(mutex_);
};

}  // namespace blockpub
