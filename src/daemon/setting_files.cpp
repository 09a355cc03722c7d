// SPDX-License-Identifier: MIT
#include "daemon/setting_files.hpp"

#include "daemon/config_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace blockpub {
namespace {

namespace fs = std::filesystem;

/// The main configuration file, if there is one.
Result<std::optional<ConfigFile>> main_config(const Settings& command_line, const fs::path& datadir) {
    if (command_line.negated("conf")) return std::nullopt;
    if (const auto given = command_line.text("conf")) {
        auto file = read_config(user_path(*given, datadir));
        if (!file)
            return fail(file.error().code, "Error reading configuration file: " + file.error().context);
        return std::move(*file);
    }
    for (const char* name : {"blockpub.conf", "bitcoin.conf"}) {
        std::error_code error;
        if (!fs::exists(datadir / name, error)) continue;
        auto file = read_config(datadir / name);
        if (!file)
            return fail(file.error().code, "Error reading configuration file: " + file.error().context);
        return std::move(*file);
    }
    return std::nullopt;
}

/// Adds the files that `includeconf` lines of the main file name.
Result<void> add_included(SettingFiles& files, const std::string& section, const fs::path& datadir) {
    for (const Setting& include : files.settings.list("includeconf")) {
        auto file = read_config(user_path(include.value, datadir));
        if (!file) {
            return fail(file.error().code, fmt::format("Error reading configuration file: Failed to include "
                                                       "configuration file {}: {}",
                                                       include.value, file.error().context));
        }
        std::erase_if(file->entries, [&](const ConfigEntry& entry) {
            if (entry.name != "includeconf") return false;
            files.warnings.push_back(fmt::format(
                "-includeconf cannot be used from included files; ignoring -includeconf={}", entry.value));
            return true;
        });
        if (auto added = files.settings.add_file(*file, section); !added) return forward_error(added);
    }
    return {};
}

}  // namespace

fs::path user_path(std::string_view text, const fs::path& base) {
    const char* home = std::getenv("HOME");
    if (home != nullptr && (text == "~" || text.starts_with("~/"))) {
        return fs::path(home) / fs::path(text.substr(std::min<std::size_t>(2, text.size())));
    }
    return base / fs::path(text);
}

Result<fs::path> base_directory(const Settings& settings) {
    if (const auto given = settings.text("datadir"); given && !given->empty()) {
        std::error_code error;
        return fs::absolute(user_path(*given, fs::path()), error);
    }
    const char* home = std::getenv("HOME");
    if (home == nullptr || *home == '\0') {
        return fail(Errc::invalid_argument,
                    "There is no home directory to keep data in: give -datadir=<dir>.");
    }
    return fs::path(home) / ".blockpub";
}

Result<ChainKind> chosen_chain(const Settings& settings) {
    std::vector<std::string> chosen;
    for (const char* name : {"regtest", "signet", "testnet", "testnet4"}) {
        if (settings.flag(name, false))
            chosen.emplace_back(name == std::string_view("testnet") ? "test" : name);
    }
    const auto chain = settings.text("chain");
    if (chosen.size() + (chain ? 1 : 0) > 1) {
        return fail(
            Errc::invalid_argument,
            "Invalid combination of -regtest, -signet, -testnet, -testnet4 and -chain. Can use at most one.");
    }
    const std::string name = !chosen.empty() ? chosen.front() : chain.value_or("main");
    const auto kind = chain_kind_from_name(name);
    if (!kind) {
        return fail(
            Errc::invalid_argument,
            fmt::format("Unknown chain {}. Choose one of main, test, testnet4, signet, regtest.", name));
    }
    return *kind;
}

Result<SettingFiles> read_setting_files(const Settings& command_line) {
    SettingFiles files{command_line, {}, {}};
    const auto datadir = base_directory(command_line);
    if (!datadir) return std::unexpected(datadir.error());
    const auto config = main_config(command_line, *datadir);
    if (!config) return std::unexpected(config.error());
    if (*config) {
        files.config_file = (*config)->name;
        Settings without_sections = command_line;
        if (auto added = without_sections.add_file(**config, ""); !added) return forward_error(added);
        const auto chain = chosen_chain(without_sections);
        if (!chain) return std::unexpected(chain.error());
        const std::string& section = chain_params(*chain).name;
        if (auto added = files.settings.add_file(**config, section); !added) return forward_error(added);
        if (auto added = add_included(files, section, *datadir); !added) return forward_error(added);
    }
    const auto chain = chosen_chain(files.settings);
    if (!chain) return std::unexpected(chain.error());
    files.settings.select_network(chain_params(*chain).name);
    return files;
}

}  // namespace blockpub
