// SPDX-License-Identifier: MIT
#include "query/rest_handlers.hpp"

#include <utility>

namespace blockpub {

namespace {

/// A value of the query that is `true` or `false`.
RestResult<bool> switch_of(const RestCall& call, std::string_view name, std::string_view fallback) {
    auto text = rest_query(call, name, fallback);
    if (!text) return std::unexpected(std::move(text.error()));
    if (*text == "true") return true;
    if (*text == "false") return false;
    return std::unexpected(rest_error(
        400, "The \"" + std::string(name) + "\" query parameter must be either \"true\" or \"false\"."));
}

}  // namespace

HttpResponse rest_mempool(const RestCall& call) {
    const std::string_view part = call.target.parameter;
    if (part != "contents" && part != "info")
        return rest_error(400, "Invalid URI format. Expected /rest/mempool/<info|contents>.json");
    if (call.target.format != RestFormat::json) return rest_no_format("json");
    if (part == "info") return rest_method(call, "getmempoolinfo", "[]");
    auto verbose = switch_of(call, "verbose", "true");
    if (!verbose) return std::move(verbose.error());
    auto sequence = switch_of(call, "mempool_sequence", "false");
    if (!sequence) return std::move(sequence.error());
    if (*verbose && *sequence) {
        return rest_error(400,
                          "Verbose results cannot contain mempool sequence values. (hint: set "
                          "\"verbose=false\")");
    }
    return rest_method(call, "getrawmempool",
                       std::string(*verbose ? "[true," : "[false,") + (*sequence ? "true]" : "false]"));
}

}  // namespace blockpub
