// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/chain_params.hpp"
#include "primitives/script.hpp"

#include <blockpub/result.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

/// A script that a descriptor stands for.
struct DescribedScript {
    Script script;
    /// The descriptor that Core infers of the script when it knows the keys of the one that was given: every
    /// key behind its fingerprint, sortedmulti() as multi(); without a checksum. Empty for addr() and raw(),
    /// of which nothing is known but the script.
    /// Source: Bitcoin Core v28.1 src/script/descriptor.cpp, InferScript.
    std::string inferred;
};

/// All scripts of a descriptor: four or two of combo(), one of what else descriptor_to_script takes. Errors:
/// as there.
[[nodiscard]] Result<std::vector<DescribedScript>> expand_descriptor(std::string_view descriptor,
                                                                     const ChainParams& params);

inline constexpr std::size_t kDescriptorChecksumLength = 8;

/// The eight characters that follow a descriptor's `#`; nothing where it holds a character that no descriptor
/// has. Parsing a descriptor is descriptor_to_script in script.hpp. Source: Bitcoin Core doc/descriptors.md,
/// "Checksums"; BIP 380.
[[nodiscard]] std::optional<std::string> descriptor_checksum(std::string_view descriptor);

/// The same without an allocation, for characters that a descriptor has: writes eight to `out`.
void descriptor_checksum_to(std::string_view descriptor, char* out);

}  // namespace blockpub
