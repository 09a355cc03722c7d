// SPDX-License-Identifier: MIT
#include "query/rpc_lookup.hpp"
#include "query/tip_waiter.hpp"

#include <chrono>
#include <functional>
#include <string_view>

namespace blockpub {

namespace {

using Deadline = TipWaiter::Deadline;

/// From milliseconds; 0 is no deadline.
std::expected<Deadline, RpcError> deadline_argument(JsonValue value) {
    const auto timeout = value.is_null() ? 0 : int_argument(value);
    if (!timeout) return std::unexpected(timeout.error());
    if (*timeout < 0) return rpc_fail(RpcCode::misc_error, "Negative timeout");
    if (*timeout == 0) return Deadline();
    return Deadline(std::chrono::steady_clock::now() + std::chrono::milliseconds(*timeout));
}

RpcOutcome wait_for(const RpcContext& context, const RpcCall& call, const Deadline& deadline,
                    const std::function<bool(const Tip&)>& wanted) {
    if (context.tip_waiter == nullptr)
        return rpc_fail(RpcCode::internal_error, "There are no events to wait for");
    const auto tip = context.tip_waiter->wait(wanted, deadline, given_up(context, call));
    if (!tip) return rpc_fail(tip.error());
    call.result.begin_object();
    call.result.member("hash", tip->hash.display_hex());
    call.result.member("height", tip->height.value);
    call.result.end_object();
    return {};
}

RpcOutcome wait_for_new_block(const RpcContext& context, const RpcCall& call) {
    const auto deadline = deadline_argument(call.arguments[0]);
    if (!deadline) return std::unexpected(deadline.error());
    BlockHash current;
    {
        const auto snapshot = context.store->snapshot();
        if (!snapshot) return rpc_fail(snapshot.error());
        const auto tip = snapshot->tip();
        if (!tip) return rpc_fail(tip.error());
        current = tip->hash;
    }
    return wait_for(context, call, *deadline, [&](const Tip& tip) { return tip.hash != current; });
}

RpcOutcome wait_for_block(const RpcContext& context, const RpcCall& call) {
    const auto hash = hash_argument<BlockHash>(call.arguments[0], "blockhash");
    if (!hash) return std::unexpected(hash.error());
    const auto deadline = deadline_argument(call.arguments[1]);
    if (!deadline) return std::unexpected(deadline.error());
    return wait_for(context, call, *deadline, [&](const Tip& tip) { return tip.hash == *hash; });
}

RpcOutcome wait_for_block_height(const RpcContext& context, const RpcCall& call) {
    const auto height = int_argument(call.arguments[0]);
    if (!height) return std::unexpected(height.error());
    const auto deadline = deadline_argument(call.arguments[1]);
    if (!deadline) return std::unexpected(deadline.error());
    return wait_for(context, call, *deadline,
                    [&](const Tip& tip) { return std::int64_t{tip.height.value} >= *height; });
}

RpcOutcome sync_with_subscribers(const RpcContext& context, const RpcCall& call) {
    if (context.bus == nullptr) return {};
    // A subscriber that never catches up must outlast neither the daemon nor the client.
    if (!context.bus->drain(given_up(context, call))) return given_up_error(context);
    return {};
}

constexpr std::string_view kTipResult =
    "Result:\n"
    "{                    (json object) the tip when the wait was over\n"
    "  \"hash\" : \"hex\",    (string) its hash\n"
    "  \"height\" : n       (numeric) its height\n"
    "}\n";

RpcArgument timeout_row() {
    return {.names = "timeout",
            .type = ArgumentType::number,
            .required = false,
            .fallback = "0",
            .text = "milliseconds after which the answer comes anyway; 0: never"};
}

}  // namespace

void add_waiting_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    methods.push_back({
        .category = "hidden",
        .name = "waitfornewblock",
        .lane = Lane::wait,
        .arguments = {timeout_row()},
        .description = "Answers when the tip has changed.",
        .result = kTipResult,
        .example = "1000",
        .json_example = "1000",
        .handler = [&context](const RpcCall& call) { return wait_for_new_block(context, call); },
    });
    methods.push_back({
        .category = "hidden",
        .name = "waitforblock",
        .lane = Lane::wait,
        .arguments = {{.names = "blockhash", .type = ArgumentType::hex, .text = "the block"}, timeout_row()},
        .description = "Answers when a block is the tip.",
        .result = kTipResult,
        .example = "\"0000000000079f8ef3d2c688c244eb7a4570b24c9ed7b4a8c619eb02596f8862\" 1000",
        .json_example = "\"0000000000079f8ef3d2c688c244eb7a4570b24c9ed7b4a8c619eb02596f8862\", 1000",
        .handler = [&context](const RpcCall& call) { return wait_for_block(context, call); },
    });
    methods.push_back({
        .category = "hidden",
        .name = "waitforblockheight",
        .lane = Lane::wait,
        .arguments = {{.names = "height", .type = ArgumentType::number, .text = "the height"}, timeout_row()},
        .description = "Answers when the tip is at a height, or above it.",
        .result = kTipResult,
        .example = "100 1000",
        .json_example = "100, 1000",
        .handler = [&context](const RpcCall& call) { return wait_for_block_height(context, call); },
    });
    methods.push_back({
        .category = "hidden",
        .name = "syncwithvalidationinterfacequeue",
        .lane = Lane::wait,
        .description =
            "Answers when every subscriber of the bus has handled what had been released before the call.",
        .result = "Result:\nnull    (json null)\n",
        .handler = [&context](const RpcCall& call) { return sync_with_subscribers(context, call); },
    });
}

}  // namespace blockpub
