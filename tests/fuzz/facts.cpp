// SPDX-License-Identifier: MIT
#include "chain/facts.hpp"

#include "base/check.hpp"
#include "primitives/sha256.hpp"

#include <algorithm>
#include <vector>

using namespace blockpub;

namespace {

void check_identity(ByteSpan bytes) {
    const auto decoded = decode_facts(bytes);
    if (!decoded) return;
    const SharedBytes encoded = encode_facts(*decoded);
    BLOCKPUB_CHECK(std::ranges::equal(encoded.bytes(), bytes));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const ByteSpan input(bytes, size);
    // As it is, its checksum hardly ever fits.
    check_identity(input);
    std::vector<std::uint8_t> sealed(input.begin(), input.end());
    const Digest256 digest = sha256d(input);
    sealed.insert(sealed.end(), digest.begin(), digest.begin() + 4);
    check_identity(sealed);
    return 0;
}
