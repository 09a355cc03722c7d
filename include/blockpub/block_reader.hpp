// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/bytes.hpp>
#include <blockpub/export.hpp>
#include <blockpub/hash.hpp>
#include <blockpub/result.hpp>

namespace blockpub {

/// Reads stored blocks by hash. The one door to block bytes: notifiers, REST, RPC and peers use it, and tests put
/// their faults here.
///
/// Thread safety: every method from any thread, concurrently.
/// Blocking: reads the disk; never takes the chain lock.
/// Errors: not_found (no such header), unavailable (header known, block not here: the context is Core's text,
/// "Block not available (pruned data)" or "Block not found on disk"), corrupt, io.
class BLOCKPUB_API BlockReader {
   public:
    virtual ~BlockReader() = default;
    /// The serialized block on the heap, shared with other readers where possible.
    [[nodiscard]] virtual Result<SharedBytes> read_block(const BlockHash& hash) = 0;
    /// The serialized block in the store's map, without a copy where the store allows it.
    [[nodiscard]] virtual Result<MappedBytes> map_block(const BlockHash& hash) = 0;
};

}  // namespace blockpub
