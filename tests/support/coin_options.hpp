// SPDX-License-Identifier: MIT
#pragma once

#include "store/coin_store.hpp"

#include <cstdint>
#include <filesystem>

namespace blockpub::test {

/// A coin store in `directory`, on a disk of whatever size.
[[nodiscard]] inline CoinStoreOptions coin_options(const std::filesystem::path& directory) {
    CoinStoreOptions options;
    options.directory = directory;
    options.map_bytes = std::uint64_t{1} << 30;
    options.min_free_disk = 0;
    return options;
}

}  // namespace blockpub::test
