// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/chain_params.hpp"
#include "source/xor_key.hpp"

#include <blockpub/result.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

/// What `-importblocks=` and `-loadblock=` ask for. The directory is imported first.
struct ImportPlan {
    std::optional<std::filesystem::path> blocks_directory;
    std::vector<std::filesystem::path> load_files;
};

/// One file of an import, with what is known before it is read.
struct PlannedFile {
    std::filesystem::path path;
    std::uint64_t size = 0;
    XorKey key;
};

/// The number in `blkNNNNN.dat`; nothing for other names.
[[nodiscard]] std::optional<std::uint64_t> block_file_number(std::string_view name);

/// The `blkNNNNN.dat` files of `directory`, in the order of their numbers, under its key.
/// Errors: not_found (no such directory, or no block file in it; names a `blocks` directory below that has
/// some), invalid_argument, corrupt (xor.dat), io.
[[nodiscard]] Result<std::vector<PlannedFile>> list_block_files(const std::filesystem::path& directory);

/// A single file of blocks, under the key that makes it begin with the chain's magic.
/// Errors: not_found, invalid_argument, corrupt, io; the context names the file.
[[nodiscard]] Result<PlannedFile> plan_load_file(const std::filesystem::path& path,
                                                 const ChainParams& params);

/// Whether all of the plan can be begun; for a start that shall fail rather than import less than it was told
/// to.
[[nodiscard]] Result<void> check_import_plan(const ImportPlan& plan, const ChainParams& params);

}  // namespace blockpub
