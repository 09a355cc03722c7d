// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace blockpub {

/// What a value of an option may look like.
enum class OptionKind : std::uint8_t {
    flag,     ///< nothing, or an integer: 0 is no
    integer,  ///< within [minimum, maximum]
    text,     ///< anything; the last on the command line, the first in a file counts
    list,     ///< may be given many times, and all count
};

enum class OptionGroup : std::uint8_t { general, chain, source, peers, storage, mempool, rpc, zmq, log };

/// One option that blockpub knows, for parsing, `-help` and docs/operations.md alike.
struct OptionSpec {
    std::string_view name;
    std::string_view value;  ///< as help shows it, such as `<n>`; empty for a flag
    OptionGroup group;
    OptionKind kind;
    std::string_view help;  ///< meaning, unit, default
    std::int64_t minimum = std::numeric_limits<std::int64_t>::min();
    std::int64_t maximum = std::numeric_limits<std::int64_t>::max();
    /// Off the main chain it counts only where the file names the chain (a section), as in bitcoind.
    bool network_only = false;
    /// Its value is never logged.
    bool secret = false;
};

/// Every option that blockpub does something with, in the order of the help.
[[nodiscard]] std::span<const OptionSpec> option_table();
/// The entry of that name; null for others.
[[nodiscard]] const OptionSpec* find_option(std::string_view name);

/// Whether bitcoind 28.1 has the option and blockpub has no use for it.
[[nodiscard]] bool is_foreign_option(std::string_view name);
/// Whether such an option turns something on that is not here, so that nothing is missed when it is off.
[[nodiscard]] bool is_absent_feature(std::string_view name);

/// The known option that `name` is most like; empty when none is near.
[[nodiscard]] std::string closest_option(std::string_view name);

/// The text of `-help`.
[[nodiscard]] std::string help_text();

}  // namespace blockpub
