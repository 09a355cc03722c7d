// SPDX-License-Identifier: MIT
#include "daemon/status_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace blockpub {

std::string format_age(std::chrono::seconds age) {
    const std::int64_t seconds = std::max<std::int64_t>(age.count(), 0);
    if (seconds < 120) return fmt::format("{} s", seconds);
    if (seconds < 120 * 60) return fmt::format("{} min", seconds / 60);
    if (seconds < 48 * 3600) return fmt::format("{} h", seconds / 3600);
    return fmt::format("{} days", seconds / 86400);
}

std::string format_status(const StatusFacts& facts) {
    std::string line;
    if (facts.chain.write_stopped) {
        line += fmt::format("WRITING HAS STOPPED ({}): restart after the disk was seen to; ",
                            facts.chain.write_error);
    } else if (!facts.chain.write_error.empty()) {
        line += fmt::format("cannot write just now ({}), trying again; ", facts.chain.write_error);
    }
    if (!facts.chain.halted.empty())
        line += fmt::format("NO BLOCK IS TAKEN ANY MORE ({}); ", facts.chain.halted);
    if (!facts.chain.read_error.empty())
        line += fmt::format("cannot read just now ({}), trying again; ", facts.chain.read_error);
    if (facts.read_failures != 0) {
        line += fmt::format("{} times a stored block could not be read (last: {}); ", facts.read_failures,
                            facts.last_read_error);
    }
    if (!facts.failing.empty()) line += fmt::format("cannot send at {}; ", fmt::join(facts.failing, ", "));
    line += fmt::format("tip {} {}, {} old{}; blocks by {}; ", facts.chain.tip.height.value,
                        facts.chain.tip.hash.display_hex(),
                        format_age(std::chrono::seconds(facts.now - facts.chain.tip_time)),
                        facts.chain.initial_download ? ", in initial download" : "", facts.source);
    line +=
        facts.endpoints.empty() ? "no ZMQ endpoint" : fmt::format("ZMQ {}", fmt::join(facts.endpoints, " "));
    if (facts.rpc_addresses.empty()) return line + "; no RPC";
    line += fmt::format("; RPC {}", fmt::join(facts.rpc_addresses, " "));
    if (!facts.cookie_path.empty()) line += fmt::format(", cookie {}", facts.cookie_path);
    return line;
}

}  // namespace blockpub
