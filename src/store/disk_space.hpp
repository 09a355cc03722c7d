// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <cstdint>
#include <filesystem>

namespace blockpub {

/// Whether `needed` bytes can be written below a directory and leave `least` free.
///
/// Thread safety: from any thread. Blocking: asks the file system.
/// Errors: disk_full, io; what `faults`, which may be null, gives at free_space.
[[nodiscard]] Result<void> check_free_disk(const std::filesystem::path& directory, std::uint64_t needed,
                                           std::uint64_t least, StoreFaults* faults);

}  // namespace blockpub
