// SPDX-License-Identifier: MIT
#pragma once

#include "query/facts_cache.hpp"

#include <blockpub/block_reader.hpp>
#include <blockpub/bytes.hpp>
#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <cstddef>
#include <memory>
#include <optional>

namespace blockpub {

/// A stored block with what was worked out when it was connected.
struct BlockMaterial {
    SharedBytes raw;
    std::shared_ptr<const StoredFacts> facts;  ///< null for a block that was never connected
    std::optional<SharedBytes> undo;           ///< encoded; nothing for it, and for genesis
};

/// Reads the parts of stored blocks. Every part is found by the header's record, so that it belongs to the
/// snapshot which that came from, and read without one.
///
/// Thread safety: every method from any thread.
/// Ownership: borrows both.
/// Blocking: reads the disk; never takes the chain lock.
/// Errors: unavailable (not here, pruned: in Core's words), corrupt, io.
class BlockMaterialReader {
 public:
    BlockMaterialReader(const Store& store, BlockReader& blocks) : store_(store), blocks_(blocks) {}

    [[nodiscard]] Result<SharedBytes> raw(const BlockHash& hash, const HeaderRecord& record) const;
    /// Null where the record names none.
    [[nodiscard]] Result<std::shared_ptr<const StoredFacts>> facts(const HeaderRecord& record) const;
    /// Nothing where the record names none.
    [[nodiscard]] Result<std::optional<SharedBytes>> undo(const HeaderRecord& record) const;

 private:
    /// Of some thirty full blocks.
    static constexpr std::size_t kFactsBytes = std::size_t{16} << 20;

    const Store& store_;
    BlockReader& blocks_;
    mutable FactsCache cache_{kFactsBytes};
};

}  // namespace blockpub
