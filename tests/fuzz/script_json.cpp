// SPDX-License-Identifier: MIT
#include "query/script_json.hpp"

#include "base/check.hpp"
#include "primitives/address.hpp"
#include "primitives/descriptor.hpp"
#include "primitives/script.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>

using namespace blockpub;

// Any bytes are a script: its JSON is JSON, says the same twice, and its descriptor leads back to the script.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const ByteSpan script(bytes, size);
    const ChainParams& params = chain_params(ChainKind::regtest);
    std::string text;
    {
        TextAppender out(text);
        append_script_asm(out, script, true);
        out.text("\n");
        OutputScriptWriter writer(out, params);
        writer.append(script);
        out.text("\n");
        writer.append(script);
    }
    const std::size_t first = text.find('\n') + 1;
    const std::size_t second = text.find('\n', first) + 1;
    BLOCKPUB_CHECK(text.substr(first, second - first - 1) == text.substr(second));
    const auto json = nlohmann::json::parse(text.substr(second), nullptr, false);
    BLOCKPUB_CHECK(json.is_object());
    const std::string descriptor = json.at("desc");
    const std::size_t hash = descriptor.find('#');
    BLOCKPUB_CHECK(descriptor_checksum(descriptor.substr(0, hash)) == descriptor.substr(hash + 1));
    if (json.contains("address")) {
        const auto back = address_to_script(json.at("address").get<std::string>(), params);
        BLOCKPUB_CHECK(back && std::ranges::equal(*back, script));
    }
    if (descriptor.starts_with("rawtr(") || descriptor.starts_with("addr(")) {
        const auto back = descriptor_to_script(descriptor, params);
        BLOCKPUB_CHECK(back && std::ranges::equal(*back, script));
    }
    return 0;
}
