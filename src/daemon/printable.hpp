// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace blockpub {

/// Appends `text` with its control characters written as \xNN, so that what somebody else chose can neither
/// begin a line of its own nor command a terminal.
void append_printable(std::string& out, std::string_view text);
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace blockpub
