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

/// The same without an allocation, for characters that a descriptor has: writes eight to `out`.
void descriptor_checksum_to(std::string_view descriptor, char* out);

}  // namespace blockpub
