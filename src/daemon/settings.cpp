// SPDX-License-Identifier: MIT
#include "daemon/settings.hpp"

#include "base/check.hpp"
#include "daemon/option_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace blockpub {
namespace {

constexpr std::string_view kOwnSection = "blockpub";
constexpr std::string_view kSections[] = {"main", "test", "testnet4", "signet", "regtest", kOwnSection};

bool truth(std::string_view value) {
    return value.empty() || parse_integer(value).value_or(1) != 0;
}

bool is_known(std::string_view name) {
    return find_option(name) != nullptr || is_foreign_option(name);
}

std::string suggestion(std::string_view name) {
    const std::string near = closest_option(name);
    return near.empty() ? "" : fmt::format("; did you mean {}?", near);
}

bool is_off(const Setting& setting) {
    return setting.negated || !truth(setting.value);
}

/// What follows the last negation, and whether nothing does.
std::span<const Setting> after_negation(std::span<const Setting> values) {
    std::size_t begin = values.size();
    while (begin > 0 && !values[begin - 1].negated) --begin;
    return values.subspan(begin);
}

Result<void> check_value(const OptionSpec& option, const Setting& setting) {
    if (option.kind == OptionKind::text || option.kind == OptionKind::list) return {};
    if (setting.negated) {
        if (option.kind != OptionKind::integer || option.minimum <= 0) return {};
        return fail(Errc::invalid_argument, fmt::format("{}: it cannot be turned off.", setting.origin));
    }
    if (option.kind == OptionKind::flag) {
        if (setting.value.empty() || parse_integer(setting.value)) return {};
        return fail(Errc::invalid_argument,
                    fmt::format("{}: '{}' is neither 1 (yes) nor 0 (no).", setting.origin, setting.value));
    }
    const auto number = parse_integer(setting.value);
    if (option.name == "rpcport" && (!number || *number < option.minimum || *number > option.maximum)) {
        return fail(Errc::invalid_argument,
                    fmt::format("Invalid port specified in -rpcport: '{}'", setting.value));
    }
    if (!number) {
        return fail(Errc::invalid_argument,
                    fmt::format("{}: '{}' is not a whole number.", setting.origin, setting.value));
    }
    if (*number >= option.minimum && *number <= option.maximum) return {};
    return fail(Errc::invalid_argument,
                option.maximum == std::numeric_limits<std::int64_t>::max()
                    ? fmt::format("{}: {} is less than {}.", setting.origin, *number, option.minimum)
                    : fmt::format("{}: {} is not between {} and {}.", setting.origin, *number, option.minimum,
                                  option.maximum));
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
    if (text.starts_with('+')) {
        text.remove_prefix(1);
        if (text.starts_with('-')) return std::nullopt;
    }
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

Result<Settings> Settings::from_command_line(std::span<const char* const> arguments) {
    Settings settings;
    for (const std::string_view argument : arguments) {
        if (!argument.starts_with('-') || argument == "-") {
            return fail(
                Errc::invalid_argument,
                fmt::format("Command line contains unexpected token '{}', see blockpubd -h for a list of "
                            "options.",
                            argument));
        }
        std::string_view name = argument.substr(argument.starts_with("--") ? 2 : 1);
        std::string value;
        if (const auto equals = name.find('='); equals != std::string_view::npos) {
            value = name.substr(equals + 1);
            name = name.substr(0, equals);
        }
        if (name == "?" || name == "h") name = "help";
        auto added = settings.add(SettingSource::command_line, std::string(name), std::move(value),
                                  fmt::format("-{}", name));
        if (!added) return forward_error(added);
    }
    return settings;
}

Result<void> Settings::add_file(const ConfigFile& file, std::string_view section) {
    std::vector<std::string> strange_sections;
    for (const ConfigEntry& entry : file.entries) {
        if (!entry.section.empty() && std::ranges::find(kSections, entry.section) == std::end(kSections)) {
            // A name that begins with zmq is looked at in any section: its misspelling must not be missed.
            if (std::ranges::find(strange_sections, entry.section) == strange_sections.end()) {
                strange_sections.push_back(entry.section);
                warnings_.push_back(fmt::format("{}:{} Section [{}] is not recognized.", file.name,
                                                entry.line, entry.section));
            }
        }
        SettingSource source = SettingSource::file;
        if (entry.section == kOwnSection)
            source = SettingSource::own_section;
        else if (!entry.section.empty() && entry.section == section)
            source = SettingSource::network_section;
        const std::string origin = fmt::format("{} ({} line {})", entry.name, file.name, entry.line);
        std::string_view name = entry.name;
        if (!is_known(name) && name.starts_with("no")) name.remove_prefix(2);
        if (!is_known(name)) {
            if (name.starts_with("zmq")) {
                return fail(Errc::invalid_argument,
                            fmt::format("Unknown option {}{}", origin, suggestion(name)));
            }
            warnings_.push_back(fmt::format("Ignoring unknown configuration value {}{}{} ({} line {}){}",
                                            entry.section, entry.section.empty() ? "" : ".", entry.name,
                                            file.name, entry.line, suggestion(name)));
            continue;
        }
        if (source == SettingSource::file && !entry.section.empty()) continue;  // another chain's
        if (name == "conf") {
            return fail(Errc::invalid_argument,
                        "Error reading configuration file: conf cannot be set in the configuration file; use "
                        "includeconf= if you want to include "
                        "additional config files");
        }
        if (auto added = add(source, entry.name, entry.value, origin); !added) return forward_error(added);
    }
    return {};
}

Result<void> Settings::add(SettingSource source, std::string name, std::string value, std::string origin) {
    Setting setting{std::move(value), false, std::move(origin)};
    if (!is_known(name) && name.starts_with("no")) {
        name.erase(0, 2);
        setting.negated = truth(setting.value);
        if (!setting.negated) {
            warnings_.push_back(fmt::format("Parsed potentially confusing double-negative {}={}",
                                            setting.origin, setting.value));
            setting.value = "1";
        }
    }
    if (!is_known(name)) {
        const bool command_line = source == SettingSource::command_line;
        return fail(Errc::invalid_argument,
                    fmt::format("{}Invalid parameter {}{}",
                                command_line ? "Error parsing command line arguments: " : "", setting.origin,
                                suggestion(name)));
    }
    if (source == SettingSource::command_line && name == "includeconf" && !setting.negated) {
        return fail(
            Errc::invalid_argument,
            fmt::format("Error parsing command line arguments: -includeconf cannot be used from commandline; "
                        "-includeconf=\"{}\"",
                        setting.value));
    }
    layers_[static_cast<std::size_t>(source)][std::move(name)].push_back(std::move(setting));
    return {};
}

bool Settings::counts(SettingSource source, std::string_view name) const {
    if (source != SettingSource::file || network_ == "main") return true;
    const OptionSpec* option = find_option(name);
    return option == nullptr || !option->network_only;
}

std::optional<Settings::Chosen> Settings::choose(std::string_view name) const {
    for (std::size_t i = 0; i < kSources; ++i) {
        const auto source = static_cast<SettingSource>(i);
        const auto found = layers_[i].find(name);
        if (found == layers_[i].end() || !counts(source, name)) continue;
        return Chosen{source, found->second};
    }
    return std::nullopt;
}

const Setting* Settings::find(std::string_view name) const {
    const auto chosen = choose(name);
    if (!chosen) return nullptr;
    const auto values = after_negation(chosen->values);
    if (values.empty()) return &chosen->values.back();
    return chosen->source == SettingSource::command_line ? &values.back() : &values.front();
}

std::optional<SettingSource> Settings::source_of(std::string_view name) const {
    const auto chosen = choose(name);
    if (!chosen) return std::nullopt;
    return chosen->source;
}

bool Settings::negated(std::string_view name) const {
    const Setting* setting = find(name);
    return setting != nullptr && setting->negated;
}

std::optional<std::string> Settings::text(std::string_view name) const {
    const Setting* setting = find(name);
    if (setting == nullptr || setting->negated) return std::nullopt;
    return setting->value;
}

bool Settings::flag(std::string_view name, bool otherwise) const {
    const Setting* setting = find(name);
    if (setting == nullptr) return otherwise;
    return !setting->negated && truth(setting->value);
}

std::int64_t Settings::integer(std::string_view name, std::int64_t otherwise) const {
    const Setting* setting = find(name);
    if (setting == nullptr) return otherwise;
    if (setting->negated) return 0;
    const auto number = parse_integer(setting->value);
    BLOCKPUB_CHECK(number.has_value(), "option {} was not validated", name);
    return *number;
}

std::vector<Setting> Settings::list(std::string_view name) const {
    std::vector<Setting> result;
    for (std::size_t i = 0; i < kSources; ++i) {
        const auto source = static_cast<SettingSource>(i);
        const auto found = layers_[i].find(name);
        if (found == layers_[i].end() || !counts(source, name)) continue;
        const auto values = after_negation(found->second);
        result.insert(result.end(), values.begin(), values.end());
        const bool negation = values.size() < found->second.size();
        if (negation || source == SettingSource::own_section) break;
    }
    return result;
}

Result<void> Settings::validate() const {
    for (std::size_t i = 0; i < kSources; ++i) {
        for (const auto& [name, values] : layers_[i]) {
            const OptionSpec* option = find_option(name);
            if (option == nullptr || !counts(static_cast<SettingSource>(i), name)) continue;
            for (const Setting& setting : values) {
                if (auto checked = check_value(*option, setting); !checked) return forward_error(checked);
            }
        }
    }
    return {};
}

std::vector<std::string> Settings::foreign_names() const {
    std::vector<std::string> names;
    for (const Layer& layer : layers_) {
        for (const auto& [name, values] : layer) {
            if (!is_foreign_option(name)) continue;
            if (is_absent_feature(name) && std::ranges::all_of(values, is_off)) continue;
            names.push_back(name);
        }
    }
    std::ranges::sort(names);
    const auto repeated = std::ranges::unique(names);
    names.erase(repeated.begin(), repeated.end());
    return names;
}

std::vector<std::string> Settings::ignored_network_options() const {
    std::vector<std::string> names;
    for (const auto& [name, values] : layers_[static_cast<std::size_t>(SettingSource::file)]) {
        if (!counts(SettingSource::file, name) && !choose(name)) names.push_back(name);
    }
    return names;
}

void Settings::for_each(
    const std::function<void(SettingSource, const std::string&, const Setting&)>& visit) const {
    for (std::size_t i = 0; i < kSources; ++i) {
        for (const auto& [name, values] : layers_[i]) {
            for (const Setting& setting : values) visit(static_cast<SettingSource>(i), name, setting);
        }
    }
}

}  // namespace blockpub
