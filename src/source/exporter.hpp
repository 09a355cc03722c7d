// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/chain_params.hpp"
#include "source/progress.hpp"
#include "source/xor_key.hpp"

#include <blockpub/logger.hpp>
#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string_view>

namespace blockpub {

struct ExportOptions {
    std::filesystem::path directory;  ///< made if it is not there; must not hold block files
    /// Key of the files, written to `xor.dat`. Without one the files are plain and there is no `xor.dat`,
    /// which every tool reads.
    std::optional<XorKey> key;
    std::uint64_t file_bytes = std::uint64_t{128} << 20;  ///< size of a file at most, as Core's
    std::chrono::milliseconds progress_every{5000};
};

struct ExportSummary {
    std::uint64_t blocks = 0;
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
    Tip tip;
};

/// A key for `-exportkey=`: 16 hexadecimal digits, or `random`. Errors: invalid_argument, io.
[[nodiscard]] Result<XorKey> parse_export_key(std::string_view text);

/// Writes the active chain as `blkNNNNN.dat` files, in the order of heights from genesis on, and waits until
/// they are on the disk. A file has its name once it is whole. `sink` may be null.
///
/// Thread safety: beside any other use of the store; what becomes active meanwhile is not exported.
/// Blocking: the disk.
/// Errors: invalid_argument (the directory holds block files already), unavailable (a block of the chain is
/// not here: pruned), disk_full, io, stopped. After an error the directory holds the files that were whole.
[[nodiscard]] Result<ExportSummary> export_blocks(const ExportOptions& options, Store& store,
                                                  const ChainParams& params, Logger& logger,
                                                  ProgressSink* sink, const std::stop_token& stop);

}  // namespace blockpub
