// SPDX-License-Identifier: MIT
#pragma once

#include "store/block_cache.hpp"

#include <blockpub/block_reader.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace blockpub {

/// A block on the heap, as the cache keeps it.
struct RawBlock {
    static constexpr BlockPart kPart = BlockPart::raw;
    [[nodiscard]] std::size_t memory() const { return bytes.size(); }
    SharedBytes bytes;
};

/// A block in its segment's map, likewise: it keeps the segment open, and no memory.
struct MappedBlock {
    static constexpr BlockPart kPart = BlockPart::mapped;
    [[nodiscard]] bool on_heap() const { return bytes.place() == MappedBytes::Place::heap; }
    [[nodiscard]] std::size_t memory() const { return on_heap() ? bytes.size() : 0; }
    [[nodiscard]] const void* segment() const { return on_heap() ? nullptr : bytes.keep_alive().get(); }
    MappedBytes bytes;
};

/// The block cache in front of another reader.
///
/// Thread safety: every method from any thread.
/// Ownership: borrows the reader behind it and the cache.
/// Blocking: a miss reads through; who asks for the same block meanwhile waits for that read.
/// Errors: those of the reader behind it; failures are not kept.
class CachedReader final : public BlockReader {
 public:
    CachedReader(BlockReader& behind, BlockCache& cache) : behind_(behind), cache_(cache) {}

    [[nodiscard]] Result<SharedBytes> read_block(const BlockHash& hash) override;
    /// The same; what is loaded is inserted with the batch.
    [[nodiscard]] Result<SharedBytes> read_block(const BlockHash& hash, BlockCache::Batch& batch);
    [[nodiscard]] Result<MappedBytes> map_block(const BlockHash& hash) override;
    [[nodiscard]] BlockCache& cache() const { return cache_; }

 private:
    BlockReader& behind_;
    BlockCache& cache_;
};

}  // namespace blockpub
