// SPDX-License-Identifier: MIT
#pragma once

#include "daemon/config_file.hpp"

#include <blockpub/result.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

/// Where a value was given; an earlier one counts more.
enum class SettingSource : std::uint8_t {
    command_line,
    own_section,      ///< [blockpub], which overrides what a file says to the node
    network_section,  ///< [regtest] and its like
    file,             ///< a file's lines outside sections
};

/// One value as it was written.
struct Setting {
    std::string value;
    bool negated = false;  ///< `-nofoo`, or `nofoo=1`
    std::string origin;    ///< for messages: `-foo`, or `foo (blockpub.conf line 3)`
};

/// All that was given for each option, by source, with bitcoind's rules for which value counts.
///
/// On the command line the last value of an option counts, in a file the first; negating forgets what was
/// given before it in the same source, and everything in sources that count less.
///
/// Thread safety: const methods concurrently.
/// Errors: invalid_argument, one sentence that names the option and where it stands.
class Settings {
 public:
    /// Reads `argv` without the program's name.
    [[nodiscard]] static Result<Settings> from_command_line(std::span<const char* const> arguments);
    /// Adds what a file says for `section` (a chain's name in files: main, test, …), and for us. Notes
    /// unknown names.
    [[nodiscard]] Result<void> add_file(const ConfigFile& file, std::string_view section);
    /// Names the chain's own section (main, test, …): elsewhere an option that belongs to one network counts
    /// for main only.
    void select_network(std::string network) { network_ = std::move(network); }

    /// The value that counts, also when that is a negation.
    [[nodiscard]] const Setting* find(std::string_view name) const;
    [[nodiscard]] bool given(std::string_view name) const { return find(name) != nullptr; }
    /// Nothing when not given, or negated.
    [[nodiscard]] std::optional<std::string> text(std::string_view name) const;
    /// Requires: validate() went well, for flag and integer.
    [[nodiscard]] bool flag(std::string_view name, bool otherwise) const;
    [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
    /// All values that count, in order.
    [[nodiscard]] std::vector<Setting> list(std::string_view name) const;
    /// Whether the option was negated and not given again after it.
    [[nodiscard]] bool negated(std::string_view name) const;
    /// Where the value that counts was given.
    [[nodiscard]] std::optional<SettingSource> source_of(std::string_view name) const;

    /// Holds each value of every known option to its kind and range.
    [[nodiscard]] Result<void> validate() const;

    /// Names of bitcoind's options that were given and do nothing here.
    [[nodiscard]] std::vector<std::string> foreign_names() const;
    /// What the user should know but need not mend, in order.
    [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
    /// Options of one network that stand outside its section and so do not count.
    [[nodiscard]] std::vector<std::string> ignored_network_options() const;
    /// Calls `visit(source, name, setting)` for all that was given, in order of what counts more.
    void for_each(const std::function<void(SettingSource, const std::string&, const Setting&)>& visit) const;

 private:
    static constexpr std::size_t kSources = 4;
    using Layer = std::map<std::string, std::vector<Setting>, std::less<>>;

    struct Chosen {
        SettingSource source;
        std::span<const Setting> values;  ///< never empty
    };
    [[nodiscard]] std::optional<Chosen> choose(std::string_view name) const;
    [[nodiscard]] bool counts(SettingSource source, std::string_view name) const;
    [[nodiscard]] Result<void> add(SettingSource source, std::string name, std::string value,
                                   std::string origin);

    std::array<Layer, kSources> layers_;
    std::string network_ = "main";
    std::vector<std::string> warnings_;
};

/// A value's text as a number: nothing but an optional sign and digits.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);

}  // namespace blockpub
