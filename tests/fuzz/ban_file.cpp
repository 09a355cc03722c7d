// SPDX-License-Identifier: MIT
#include "daemon/ban_file.hpp"

#include "base/check.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

/// What decodes, encodes to what decodes alike.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace blockpub;
    const auto bans = ban_file::decode(std::string(reinterpret_cast<const char*>(data), size));
    if (!bans) return 0;
    const auto again = ban_file::decode(ban_file::encode(*bans));
    BLOCKPUB_CHECK(again && *again == *bans);
    return 0;
}
