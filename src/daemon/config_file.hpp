// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/result.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

/// One `name=value` of a configuration file.
struct ConfigEntry {
    std::string section;  ///< `regtest` in section [regtest] or written `regtest.name=value`; empty outside
    std::string name;
    std::string value;
    std::size_t line = 0;  ///< counted from 1
};

/// A configuration file, taken apart but not yet understood.
struct ConfigFile {
    std::string name;  ///< as messages name it
    std::vector<ConfigEntry> entries;
};

/// Takes a file in bitcoin.conf's format apart: `name=value`, `[section]`, `#` begins a comment.
/// Errors: invalid_argument, with bitcoind's text for the line.
[[nodiscard]] Result<ConfigFile> parse_config(std::string_view text, std::string name);

/// Reads and takes apart a file. Errors: those of parse_config; not_found, io, limit (larger than any
/// sensible one).
[[nodiscard]] Result<ConfigFile> read_config(const std::filesystem::path& path);

}  // namespace blockpub
