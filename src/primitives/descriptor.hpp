// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace blockpub {

/// The eight characters that follow a descriptor's `#`; nothing where it holds a character that no descriptor
/// has. Parsing a descriptor is descriptor_to_script in script.hpp. Source: Bitcoin Core doc/descriptors.md,
/// "Checksums"; BIP 380.
[[nodiscard]] std::optional<std::string> descriptor_checksum(std::string_view descriptor);

}  // namespace blockpub
