// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"

#include <blockpub/block_reader.hpp>
#include <blockpub/store.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace blockpub {

/// Why a header's block cannot be had, in Core's words; nothing where it is stored.
[[nodiscard]] std::optional<Error> missing_block(const HeaderRecord& record);
/// The error of reading what a record names, likewise: what has gone since the look-up was pruned.
[[nodiscard]] Error name_pruned(Error error);

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
    /// Adds what reads have come to that should have gone well.
    void add_failures(StoreStatus& status) const BLOCKPUB_EXCLUDES(mutex_);

 private:
    [[nodiscard]] Result<HeaderRecord> find(const BlockHash& hash) const;
    [[nodiscard]] Result<SharedBytes> read(const BlockHash& hash) const;
    void note_failure(const BlockHash& hash, const Error& error) BLOCKPUB_EXCLUDES(mutex_);

    const Store& store_;
    mutable Mutex mutex_;
    std::uint64_t failures_ BLOCKPUB_GUARDED_BY(mutex_) = 0;
    std::string last_error_ BLOCKPUB_GUARDED_BY(mutex_);
};

}  // namespace blockpub
