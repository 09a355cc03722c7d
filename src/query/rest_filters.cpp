// SPDX-License-Identifier: MIT
#include "query/rest_handlers.hpp"

#include <utility>

// blockpub keeps no block filters: these answer like a node without -blockfilterindex.

namespace blockpub {

namespace {

HttpResponse no_index(std::string_view type, std::string_view hash) {
    if (const auto valid = rest_hash<BlockHash>(hash); !valid) return valid.error();
    if (type != "basic") return rest_error(400, "Unknown filtertype " + std::string(type));
    return rest_error(400, "Index is not enabled for filtertype " + std::string(type));
}

}  // namespace

HttpResponse rest_block_filter(const RestCall& call) {
    const auto parts = call.target.parts();
    if (parts.size() != 2) {
        return rest_error(400, "Invalid URI format. Expected /rest/blockfilter/<filtertype>/<blockhash>");
    }
    return no_index(parts[0], parts[1]);
}

HttpResponse rest_filter_headers(const RestCall& call) {
    const auto parts = call.target.parts();
    if (parts.size() != 2 && parts.size() != 3) {
        return rest_error(400,
                          "Invalid URI format. Expected "
                          "/rest/blockfilterheaders/<filtertype>/<blockhash>.<ext>?count=<count>");
    }
    std::string text;
    if (parts.size() == 3) {
        text = parts[1];
    } else {
        auto given = rest_query(call, "count", "5");
        if (!given) return std::move(given.error());
        text = std::move(*given);
    }
    if (auto count = rest_count(text); !count) return std::move(count.error());
    return no_index(parts[0], parts.back());
}

}  // namespace blockpub
