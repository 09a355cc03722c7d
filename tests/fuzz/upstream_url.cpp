// SPDX-License-Identifier: MIT
#include "query/upstream_url.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <string>

using namespace blockpub;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(bytes), size);
    const auto url = parse_upstream_url(text, 8332);
    if (!url) {
        BLOCKPUB_CHECK(!url.error().context.empty());
        return 0;
    }
    BLOCKPUB_CHECK(!url->host.empty() && url->port != 0 && url->target.starts_with('/'));
    // What is shown, and sent as it is, holds neither blanks nor line ends, and means the same place.
    const std::string shown = url->shown();
    BLOCKPUB_CHECK(std::ranges::all_of(shown, [](char c) { return c > ' ' && c < '\x7f'; }), "{}", text);
    const auto again = parse_upstream_url(shown, 1);
    BLOCKPUB_CHECK(again && again->host == url->host && again->port == url->port, "{}", text);
    BLOCKPUB_CHECK(again->target == url->target && !again->login, "{}", text);
    return 0;
}
