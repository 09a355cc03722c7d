// SPDX-License-Identifier: MIT
#include "daemon/printable.hpp"

#include <fmt/format.h>

#include <iterator>

namespace blockpub {

void append_printable(std::string& out, std::string_view text) {
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f)
            fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
        else
            out += c;
    }
}

std::string printable(std::string_view text) {
    std::string out;
    append_printable(out, text);
    return out;
}

}  // namespace blockpub
