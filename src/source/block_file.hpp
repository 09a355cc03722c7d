// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/chain_params.hpp"
#include "source/block_scanner.hpp"
#include "source/file.hpp"
#include "source/xor_key.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/result.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace blockpub {

/// Walks over the blocks of one file through a buffer of fixed size.
///
/// Thread safety: distinct objects safe.
/// Ownership: owns the file.
/// Blocking: reads the disk.
/// Errors: io, as long as the disk refuses; what the file holds is never an error.
class BlockFile {
 public:
    /// Begins at `start_offset`, which is the beginning or where an earlier walk ended.
    BlockFile(File file, const ChainParams& params, XorKey key, std::uint64_t start_offset = 0);

    /// The next block, bad spot or the end; never need_more. `block()` is valid until the next call.
    [[nodiscard]] Result<ScanStep> next();
    /// Bytes of the block that next() returned.
    [[nodiscard]] ByteSpan block() const& { return block_; }
    ByteSpan block() && = delete;
    /// Everything before it has been handed out or passed over.
    [[nodiscard]] std::uint64_t position() const { return scanner_.position(); }
    [[nodiscard]] const File& file() const& { return file_; }

 private:
    [[nodiscard]] Result<void> read_on();

    File file_;
    XorKey key_;
    BlockScanner scanner_;
    std::unique_ptr<std::uint8_t[]> buffer_;
    std::uint64_t buffer_offset_;  // of buffer_[0] in the file
    std::size_t filled_ = 0;
    bool reaches_end_ = false;
    ByteSpan block_;
};

/// The key under which `file` begins with the network's magic: the plain one, else `directory_key`.
/// Errors: corrupt (neither; says so if it is another network's), io. The context names the file.
[[nodiscard]] Result<XorKey> detect_key(const File& file, const ChainParams& params,
                                        const XorKey& directory_key);

/// Whether `file` may hold blocks of the network, by its first bytes under `key`. Errors: corrupt, when they
/// are the magic of another network (the context names file and network); io.
[[nodiscard]] Result<void> refuse_other_chain(const File& file, const ChainParams& params, const XorKey& key);

}  // namespace blockpub
