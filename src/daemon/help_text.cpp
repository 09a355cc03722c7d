// SPDX-License-Identifier: MIT
#include "daemon/option_table.hpp"

#include <algorithm>
#include <string>

namespace blockpub {
namespace {

void append_wrapped(std::string& out, std::string_view text) {
    constexpr std::size_t kIndent = 7;
    constexpr std::size_t kWidth = 79;
    std::size_t column = kWidth;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        if (column + 1 + end > kWidth) {
            if (!out.ends_with('\n')) out += '\n';
            out.append(kIndent, ' ');
            column = kIndent;
        } else {
            out += ' ';
            ++column;
        }
        out += text.substr(0, end);
        column += end;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    out += "\n\n";
}

constexpr std::string_view group_title(OptionGroup group) {
    using enum OptionGroup;
    switch (group) {
        case general:
            return "Options:";
        case chain:
            return "Chain selection and rules:";
        case source:
            return "Where blocks come from, and go to:";
        case peers:
            return "Serving peers:";
        case storage:
            return "Store and memory:";
        case mempool:
            return "Mempool:";
        case rpc:
            return "JSON-RPC server:";
        case zmq:
            return "ZeroMQ notifications (endpoints: tcp://127.0.0.1:28332, ipc:///path, unix:/path):";
        case log:
            return "Logging:";
    }
    return "";
}

}  // namespace

std::string help_text() {
    std::string out =
        "Usage: blockpubd [options]\n\n"
        "Takes a Bitcoin node's blocks, keeps them, and announces them with bitcoind's ZeroMQ frames.\n"
        "One dash or two; -no<option> and -<option>=0 turn an option off.\n";
    bool first = true;
    OptionGroup group = OptionGroup::general;
    for (const OptionSpec& option : option_table()) {
        if (first || option.group != group) {
            group = option.group;
            out.append("\n").append(group_title(group)).append("\n\n");
            first = false;
        }
        out.append("  -").append(option.name);
        if (!option.value.empty()) out.append("=").append(option.value);
        append_wrapped(out, option.help);
    }
    return out;
}

}  // namespace blockpub
