// SPDX-License-Identifier: MIT
#pragma once

#include "daemon/settings.hpp"
#include "primitives/chain_params.hpp"

#include <blockpub/result.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

/// A path as the user means it: `~/` is home, a relative one starts at `base`.
[[nodiscard]] std::filesystem::path user_path(std::string_view text, const std::filesystem::path& base);

/// -datadir=, or the default under the home directory. Errors: invalid_argument, when there is neither.
[[nodiscard]] Result<std::filesystem::path> base_directory(const Settings& settings);

/// -chain= or its shorter forms. Errors: invalid_argument with bitcoind's text.
[[nodiscard]] Result<ChainKind> chosen_chain(const Settings& settings);

/// The settings of command line and configuration files together, for the chain that they choose.
struct SettingFiles {
    Settings settings;
    std::string config_file;  ///< the main one; empty for none
    std::vector<std::string> warnings;
};

/// Finds and reads the configuration files that `command_line` leads to: -conf=, else blockpub.conf or
/// bitcoin.conf in the data directory, and what those include. Errors: invalid_argument, io, limit; one
/// sentence.
[[nodiscard]] Result<SettingFiles> read_setting_files(const Settings& command_line);

}  // namespace blockpub
