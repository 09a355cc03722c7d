// SPDX-License-Identifier: MIT
#pragma once

#include "base/ban_list.hpp"

#include <blockpub/result.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace blockpub {

/// The bans in `banlist.json`, as bitcoind keeps them: each reads the other's file.
/// Source: Bitcoin Core v28.1 src/addrdb.cpp, src/net_types.cpp.
namespace ban_file {

[[nodiscard]] std::string encode(const std::vector<BanList::Ban>& bans);
/// Entries of a later version, and what is no address that bitcoind knows, are left out as bitcoind does.
/// Errors: corrupt.
[[nodiscard]] Result<std::vector<BanList::Ban>> decode(std::string text);

/// No bans where there is no file. Errors: corrupt, with the remedy; io.
[[nodiscard]] Result<std::vector<BanList::Ban>> read(const std::filesystem::path& path);
/// Puts the file in place as a whole, and durably. Errors: io, disk_full; the old file is left then.
[[nodiscard]] Result<void> write(const std::filesystem::path& path, const std::vector<BanList::Ban>& bans);

}  // namespace ban_file

}  // namespace blockpub
