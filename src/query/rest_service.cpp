// SPDX-License-Identifier: MIT
#include "query/rest_service.hpp"

#include "query/http_conditional.hpp"
#include "query/rest_handlers.hpp"

#include <exception>
#include <utility>

namespace blockpub {

namespace {

/// No form of a path says as much; what goes beyond takes no share of the room for bodies of JSON-RPC.
constexpr std::size_t kMaxBody = 64 * 1024;

struct Route {
    std::string_view prefix;
    HttpResponse (*handler)(const RestCall&);
    bool large_json = false;   ///< its JSON may take megabytes
    bool large_bytes = false;  ///< and so may its bytes and digits, which are made, not sent from a file

    /// Roughly what the reply may take.
    [[nodiscard]] std::size_t memory(RestFormat format) const;
};

std::size_t Route::memory(RestFormat format) const {
    if (format == RestFormat::json) return large_json ? kLargeReply : 0;
    if (format != RestFormat::none && large_bytes) return kLargeReply;
    return format == RestFormat::hex ? kHexMemory : 0;
}

// The first prefix that fits counts.
constexpr Route kRoutes[] = {
    {"/rest/tx/", rest_transaction},
    {"/rest/block/notxdetails/", rest_block_without_details},
    {"/rest/block/", rest_block, true},
    {"/rest/blockpart/", rest_block_part},
    {"/rest/blockfilter/", rest_block_filter},
    {"/rest/blockfilterheaders/", rest_filter_headers},
    {"/rest/chaininfo", rest_chain_info},
    {"/rest/mempool/", rest_mempool, true},
    {"/rest/headers/", rest_headers},
    {"/rest/getutxos", rest_coins},
    {"/rest/deploymentinfo/", rest_deployment_info},
    {"/rest/deploymentinfo", rest_deployment_info},
    {"/rest/blockhashbyheight/", rest_hash_by_height},
    {"/rest/spenttxouts/", rest_spent_outputs, true, true},
};

const Route* route_of(std::string_view target) {
    for (const Route& route : kRoutes) {
        if (target.starts_with(route.prefix)) return &route;
    }
    return nullptr;
}

}  // namespace

std::optional<HttpRefusal> RestService::admit(HttpRequest& request) {
    if (!policy_.admits(request.head))
        return HttpRefusal{.response = rest_error(403, "Forbidden: unknown host or foreign origin")};
    request.max_body = kMaxBody;
    return std::nullopt;
}

HttpAnswer RestService::answer(HttpRequest& request) {
    const Route* route = route_of(request.head.target);
    if (route == nullptr) return HttpResponse{.status = 404};
    const RpcMethods* methods = dispatcher_.methods();
    if (methods == nullptr) {
        HttpResponse response = rest_error(503, "Service temporarily unavailable: " + dispatcher_.warmup());
        response.fields = "Retry-After: 1\r\n";
        return response;
    }
    const RestTarget target = parse_rest_target(request.head.target.substr(route->prefix.size()));
    auto run = [this, &request, route, target, methods] {
        HttpResponse response = route->handler({request, target, context_, *methods});
        apply_conditions(request.head, response);
        return response;
    };
    const std::size_t memory = route->memory(target.format);
    if (memory == 0) return run();
    return HttpJob{.lane = Lane::here, .run = std::move(run), .reply_bytes = memory};
}

}  // namespace blockpub
