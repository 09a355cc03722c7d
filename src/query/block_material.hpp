// SPDX-License-Identifier: MIT
#pragma once

#include "chain/stored_parts.hpp"
#include "store/cached_reader.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <memory>
#include <optional>

namespace blockpub {

/// Core's words for undo data that should be here, and is not (pruned since the header was looked up) or does
/// not decode.
inline constexpr char kUndoUnreadable[] =
    "Undo data expected but can't be read. This could be due to disk corruption or a conflict with a pruning "
    "event.";

/// A stored block with what was worked out when it was connected.
struct BlockMaterial {
    SharedBytes raw;
    std::shared_ptr<const StoredFacts> facts;  ///< null for a block that was never connected
    std::shared_ptr<const StoredUndo> undo;    ///< null for it, and for genesis
};

/// Reads the parts of stored blocks, from the block cache where they are there. Every part is found by the
/// header's record, so that it belongs to the snapshot which that came from, and read without one.
///
/// Thread safety: every method from any thread.
/// Ownership: borrows both.
/// Blocking: reads the disk; never takes the chain lock.
/// Errors: unavailable (not here, pruned: in Core's words, kUndoUnreadable for undo data), corrupt, io.
class BlockMaterialReader {
 public:
    using Batch = BlockCache::Batch;

    BlockMaterialReader(const Store& store, CachedReader& blocks) : store_(store), blocks_(blocks) {}

    /// For the parts of one answer: what was not in the cache comes in with the batch's end.
    [[nodiscard]] Batch batch() const { return Batch(blocks_.cache()); }

    [[nodiscard]] Result<SharedBytes> raw(const BlockHash& hash, const HeaderRecord& record,
                                          Batch& batch) const;
    /// Null where the record names none.
    [[nodiscard]] Result<std::shared_ptr<const StoredFacts>> facts(const HeaderRecord& record,
                                                                   Batch& batch) const;
    /// Null where the record names none.
    [[nodiscard]] Result<std::shared_ptr<const StoredUndo>> undo(const HeaderRecord& record,
                                                                 Batch& batch) const;

    // One part alone.
    [[nodiscard]] Result<SharedBytes> raw(const BlockHash& hash, const HeaderRecord& record) const;
    [[nodiscard]] Result<std::shared_ptr<const StoredFacts>> facts(const HeaderRecord& record) const;
    [[nodiscard]] Result<std::shared_ptr<const StoredUndo>> undo(const HeaderRecord& record) const;

 private:
    template <class Part>
    [[nodiscard]] Result<std::shared_ptr<const Part>> part(const HeaderRecord& record,
                                                           const std::optional<BlobPlace>& place,
                                                           Batch& batch) const;

    const Store& store_;
    CachedReader& blocks_;
};

}  // namespace blockpub
