// SPDX-License-Identifier: MIT
#include "base/hex.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <array>
#include <cctype>

using namespace blockpub;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const ByteSpan input(bytes, size);
    const std::string encoded = encode_hex(input);
    BLOCKPUB_CHECK(encoded.size() == 2 * size);
    const auto decoded = decode_hex(encoded);
    BLOCKPUB_CHECK(decoded && std::ranges::equal(*decoded, input));

    const std::string_view text(reinterpret_cast<const char*>(bytes), size);
    const bool digits = std::ranges::all_of(input, [](std::uint8_t c) { return std::isxdigit(c) != 0; });
    const auto taken = decode_hex(text);
    BLOCKPUB_CHECK(taken.has_value() == (digits && size % 2 == 0), "{} bytes", size);
    BLOCKPUB_CHECK(is_hex(text) == (taken.has_value() && size != 0), "{} bytes", size);
    if (!taken) return 0;
    std::string lower(text);
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    BLOCKPUB_CHECK(encode_hex(*taken) == lower);
    return 0;
}
