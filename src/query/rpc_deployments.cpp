// SPDX-License-Identifier: MIT
#include "query/deployments.hpp"
#include "query/rpc_lookup.hpp"

namespace blockpub {

namespace {

RpcOutcome get_deployment_info(const RpcContext& context, const RpcCall& call) {
    const auto snapshot = context.store->snapshot();
    if (!snapshot) return rpc_fail(snapshot.error());
    BlockHash hash;
    if (call.arguments.has(0)) {
        const auto wanted = hash_argument<BlockHash>(call.arguments[0], "blockhash");
        if (!wanted) return std::unexpected(wanted.error());
        hash = *wanted;
    } else {
        const auto tip = snapshot->tip();
        if (!tip) return rpc_fail(tip.error());
        hash = tip->hash;
    }
    const auto header = header_view(*snapshot, hash);
    if (!header) return no_block(header.error());
    const auto written = write_deployment_info(call.result, *snapshot, *header, *context.params);
    if (!written) return rpc_fail(written.error());
    return {};
}

}  // namespace

void add_deployment_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    methods.push_back({
        .category = "blockchain",
        .name = "getdeploymentinfo",
        .arguments = {{.names = "blockhash",
                       .type = ArgumentType::hex,
                       .required = false,
                       .fallback = "hash of current chain tip",
                       .text = "the block whose successor is asked about"}},
        .description = "The soft forks, and which of them are in force behind a block.",
        .result =
            "Result:\n"
            "{                                       (json object)\n"
            "  \"hash\" : \"str\",                       (string) the block\n"
            "  \"height\" : n,                         (numeric) its height\n"
            "  \"deployments\" : {                     (json object)\n"
            "    \"xxxx\" : {                          (json object) a soft fork by its name\n"
            "      \"type\" : \"str\",                   (string) buried, or bip9 for one that was voted on\n"
            "      \"height\" : n,                     (numeric, optional) the first block that it binds\n"
            "      \"active\" : true|false,            (boolean) whether it binds the next block\n"
            "      \"bip9\" : {                        (json object, optional)\n"
            "        \"bit\" : n,                      (numeric, optional) bit of the version, during the "
            "vote\n"
            "        \"start_time\" : xxx,             (numeric) when the vote could begin; -1: active from "
            "the "
            "start\n"
            "        \"timeout\" : xxx,                (numeric) when it would have failed\n"
            "        \"min_activation_height\" : n,    (numeric) least height at which it may bind\n"
            "        \"status\" : \"str\",               (string) defined, started, locked_in, active or "
            "failed\n"
            "        \"since\" : n,                    (numeric) height since which this is so\n"
            "        \"status_next\" : \"str\",          (string) the same for the next block\n"
            "        \"statistics\" : {                (json object, optional) of the period under way\n"
            "          \"period\" : n,                 (numeric) its length in blocks\n"
            "          \"threshold\" : n,              (numeric, optional) how many must signal\n"
            "          \"elapsed\" : n,                (numeric) blocks so far\n"
            "          \"count\" : n,                  (numeric) those that signal\n"
            "          \"possible\" : true|false       (boolean, optional) whether enough still can\n"
            "        },\n"
            "        \"signalling\" : \"str\"            (string, optional) # for a block that signals, - "
            "for one "
            "that does not\n"
            "      }\n"
            "    },\n"
            "    ...\n"
            "  }\n"
            "}\n",
        .handler = [&context](const RpcCall& call) { return get_deployment_info(context, call); },
    });
}

}  // namespace blockpub
