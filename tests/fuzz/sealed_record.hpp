// SPDX-License-Identifier: MIT
#pragma once

#include "base/check.hpp"
#include "primitives/sha256.hpp"

#include <blockpub/bytes.hpp>

#include <algorithm>
#include <vector>

namespace blockpub::fuzz {

/// Decodes bytes of a record that ends with 4 bytes of checksum, and what they are with the right ones behind
/// them; whatever decodes must encode to the same bytes.
template <class Decode, class Encode>
void check_sealed_record(ByteSpan input, Decode decode, Encode encode) {
    const auto check_identity = [&](ByteSpan bytes) {
        const auto decoded = decode(bytes);
        if (!decoded) return;
        const SharedBytes encoded = encode(*decoded);
        BLOCKPUB_CHECK(std::ranges::equal(encoded.bytes(), bytes));
    };
    // As it is, its checksum hardly ever fits.
    check_identity(input);
    std::vector<std::uint8_t> sealed(input.begin(), input.end());
    const Digest256 digest = sha256d(input);
    sealed.insert(sealed.end(), digest.begin(), digest.begin() + 4);
    check_identity(sealed);
}

}  // namespace blockpub::fuzz
