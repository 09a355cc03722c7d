// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/block_reader.hpp>
#include <blockpub/store.hpp>

namespace blockpub {

/// Reads blocks by hash: the header table says where, the segments give the bytes. Each part is asked through
/// a snapshot or a place, so that no lock is held over the read, and a block that is pruned meanwhile is
/// answered as pruned.
///
/// Thread safety: every method from any thread.
/// Ownership: borrows the store.
class BlockLookup final : public BlockReader {
 public:
    explicit BlockLookup(const Store& store) : store_(store) {}
    [[nodiscard]] Result<SharedBytes> read_block(const BlockHash& hash) override;
    [[nodiscard]] Result<MappedBytes> map_block(const BlockHash& hash) override;

 private:
    [[nodiscard]] Result<HeaderRecord> find(const BlockHash& hash) const;

    const Store& store_;
};

}  // namespace blockpub
