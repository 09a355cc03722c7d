// SPDX-License-Identifier: MIT
#include "query/rest_handlers.hpp"

#include <utility>

namespace blockpub {

namespace {

HttpResponse method_json(const RestCall& call, std::string_view name, const std::string& arguments) {
    auto text = rest_method(call, name, arguments);
    if (text) return rest_json(std::move(*text));
    return rest_failure(call, {Errc::io, text.error().message});
}

}  // namespace

HttpResponse rest_chain_info(const RestCall& call) {
    if (call.target.format != RestFormat::json) return rest_no_format("json");
    return method_json(call, "getblockchaininfo", "[]");
}

HttpResponse rest_deployment_info(const RestCall& call) {
    if (call.target.format != RestFormat::json) return rest_no_format("json");
    if (call.target.parameter.empty()) return method_json(call, "getdeploymentinfo", "[]");
    const auto hash = rest_hash<BlockHash>(call.target.parameter);
    if (!hash) return hash.error();
    const auto snapshot = call.context.store->snapshot();
    if (!snapshot) return rest_failure(call, snapshot.error());
    const auto record = snapshot->header(*hash);
    if (!record && record.error().code == Errc::not_found) return rest_error(400, "Block not found");
    if (!record) return rest_failure(call, record.error());
    return method_json(call, "getdeploymentinfo", "[\"" + hash->display_hex() + "\"]");
}

}  // namespace blockpub
