// SPDX-License-Identifier: MIT
#include "primitives/descriptor.hpp"

#include "base/check.hpp"
#include "primitives/script.hpp"

#include <string>

using namespace blockpub;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(bytes), size);
    const ChainParams& params = chain_params(ChainKind::regtest);
    const auto script = descriptor_to_script(text, params);
    if (!script) {
        BLOCKPUB_CHECK(!script.error().context.empty());
        return 0;
    }
    const std::string payload = text.substr(0, text.find('#'));
    const auto checksum = descriptor_checksum(payload);
    BLOCKPUB_CHECK(checksum && checksum->size() == 8, "{}", text);
    const auto again = descriptor_to_script(payload + '#' + *checksum, params);
    BLOCKPUB_CHECK(again == *script, "{}", text);
    const auto scripts = expand_descriptor(text, params);
    BLOCKPUB_CHECK(scripts && !scripts->empty() && scripts->size() <= 4, "{}", text);
    for (const DescribedScript& described : *scripts) {
        BLOCKPUB_CHECK(described.inferred.empty() || descriptor_checksum(described.inferred), "{}", text);
    }
    return 0;
}
