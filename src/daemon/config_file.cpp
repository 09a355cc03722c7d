// SPDX-License-Identifier: MIT
#include "daemon/config_file.hpp"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

namespace blockpub {
namespace {

constexpr std::uintmax_t kLargestFile = 4 << 20;

std::string_view trim(std::string_view text) {
    constexpr std::string_view kBlank = " \t\r\n";
    const auto first = text.find_first_not_of(kBlank);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

/// One line without its comment; sets `section`, or appends an entry.
Result<void> parse_line(std::string_view line, bool had_comment, std::size_t number, std::string& section,
                        std::vector<ConfigEntry>& entries) {
    if (line.front() == '[' && line.back() == ']') {
        section = line.substr(1, line.size() - 2);
        return {};
    }
    if (line.front() == '-') {
        return fail(
            Errc::invalid_argument,
            fmt::format("parse error on line {}: {}, options in configuration file must be specified without "
                        "leading -",
                        number, line));
    }
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) {
        const bool negated = line.starts_with("no");
        return fail(
            Errc::invalid_argument,
            fmt::format(
                "parse error on line {}: {}{}", number, line,
                negated ? fmt::format(", if you intended to specify a negated option, use {}=1 instead", line)
                        : ""));
    }
    ConfigEntry entry{section, std::string(trim(line.substr(0, equals))),
                      std::string(trim(line.substr(equals + 1))), number};
    if (had_comment && entry.name.find("rpcpassword") != std::string::npos) {
        return fail(
            Errc::invalid_argument,
            fmt::format(
                "parse error on line {}, using # in rpcpassword can be ambiguous and should be avoided",
                number));
    }
    if (const auto dot = entry.name.find('.'); section.empty() && dot != std::string::npos) {
        entry.section = entry.name.substr(0, dot);
        entry.name.erase(0, dot + 1);
    }
    entries.push_back(std::move(entry));
    return {};
}

}  // namespace

Result<ConfigFile> parse_config(std::string_view text, std::string name) {
    ConfigFile file{std::move(name), {}};
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    std::string section;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const auto end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        const auto comment = line.find('#');
        line = trim(line.substr(0, comment));
        if (line.empty()) continue;
        if (auto parsed = parse_line(line, comment != std::string_view::npos, number, section, file.entries);
            !parsed) {
            return forward_error(parsed);
        }
    }
    return file;
}

Result<ConfigFile> read_config(const std::filesystem::path& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
        return fail(Errc::io, fmt::format("Config file \"{}\" is a directory.", path.string()));
    }
    if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error)) {
        return fail(Errc::io, fmt::format("Config file \"{}\" is not a regular file.", path.string()));
    }
    std::ifstream in(path, std::ios::binary);
    if (!in) {
        const bool missing = !std::filesystem::exists(path, error);
        return fail(missing ? Errc::not_found : Errc::io,
                    fmt::format("specified config file \"{}\" could not be opened.", path.string()));
    }
    if (const auto size = std::filesystem::file_size(path, error); !error && size > kLargestFile) {
        return fail(Errc::limit, fmt::format("config file \"{}\" has {} bytes, more than the {} allowed.",
                                             path.string(), size, kLargestFile));
    }
    std::ostringstream text;
    text << in.rdbuf();
    if (in.bad()) return fail(Errc::io, fmt::format("config file \"{}\" could not be read.", path.string()));
    return parse_config(text.str(), path.string());
}

}  // namespace blockpub
