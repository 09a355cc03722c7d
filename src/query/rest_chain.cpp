// SPDX-License-Identifier: MIT
#include "query/rest_handlers.hpp"

namespace blockpub {

HttpResponse rest_chain_info(const RestCall& call) {
    if (call.target.format != RestFormat::json) return rest_no_format("json");
    return rest_method(call, "getblockchaininfo", "[]");
}

HttpResponse rest_deployment_info(const RestCall& call) {
    if (call.target.format != RestFormat::json) return rest_no_format("json");
    if (call.target.parameter.empty()) return rest_method(call, "getdeploymentinfo", "[]");
    const auto hash = rest_hash<BlockHash>(call.target.parameter);
    if (!hash) return hash.error();
    return rest_method(call, "getdeploymentinfo", "[\"" + hash->display_hex() + "\"]");
}

}  // namespace blockpub
