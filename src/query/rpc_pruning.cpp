// SPDX-License-Identifier: MIT
#include "query/rpc_context.hpp"

namespace blockpub {

namespace {

/// An Error of the chain: what the caller got wrong, what cannot be, or what failed.
std::unexpected<RpcError> not_pruned(const Error& error) {
    switch (error.code) {
        case Errc::invalid_argument:
            return rpc_fail(RpcCode::invalid_parameter, error.context);
        case Errc::unavailable:
            return rpc_fail(RpcCode::misc_error, error.context);
        default:
            return rpc_fail(RpcCode::database_error, error.context);
    }
}

RpcOutcome prune_blockchain(const RpcContext& context, const RpcCall& call) {
    if (context.prune.mode == PruneOptions::Mode::off)
        return rpc_fail(RpcCode::misc_error, "Cannot prune blocks because node is not in prune mode.");
    const auto height = int_argument(call.arguments[0]);
    if (!height) return std::unexpected(height.error());
    const auto pruned_to = context.chain->prune_blocks(*height);
    if (!pruned_to) return not_pruned(pruned_to.error());
    call.result.integer(*pruned_to ? std::int64_t{(*pruned_to)->value} : std::int64_t{-1});
    return {};
}

}  // namespace

void add_pruning_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    methods.push_back({
        .category = "blockchain",
        .name = "pruneblockchain",
        .lane = Lane::chain,
        .arguments = {{.names = "height",
                       .type = ArgumentType::number,
                       .text =
                           "blocks up to this height may go; a number above a billion is a time in seconds "
                           "since 1970, and\n"
                           "                  blocks at least two hours older than that may go"}},
        .description =
            "Gives up stored blocks, their undo data and what was worked out of them, for good. Needs "
            "-prune.\n"
            "Whole segment files go, so that some blocks below the height may stay; the last 288 always do.",
        .result =
            "Result:\nn    (numeric) height of the last block that is not here any more; -1 while all are\n",
        .example = "1000",
        .json_example = "1000",
        .handler = [&context](const RpcCall& call) { return prune_blockchain(context, call); },
    });
}

}  // namespace blockpub
