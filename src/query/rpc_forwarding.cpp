// SPDX-License-Identifier: MIT
#include "query/rpc_forwarding.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <string_view>

namespace blockpub {
namespace {

constexpr std::array<std::string_view, 5> kForwarded{
    "estimatesmartfee", "getblocktemplate", "sendrawtransaction", "submitpackage", "testmempoolaccept"};
constexpr std::string_view kDescription = "Answered by the node that -upstreamrpc names.";
/// A node answers a long poll when there is another template, which may take as long as a block does.
constexpr std::chrono::hours kLongPoll{2};

bool is_long_poll(JsonValue request) {
    return request.find("longpollid").value_or(JsonValue()).is_string();
}

/// The template request among parameters by position or name.
bool asks_for_long_poll(JsonValue parameters) {
    return is_long_poll(parameters.at(0)) ||
           is_long_poll(parameters.find("template_request").value_or(JsonValue()));
}

RpcOutcome pass_on(Upstream& upstream, std::string_view method, JsonValue parameters, const RpcCall& call) {
    // Who asks shortly may close its side of the connection behind the request, and wait.
    const std::function<bool()> nobody_departs;
    const bool waits = method == "getblocktemplate" && asks_for_long_poll(parameters);
    const auto reply = upstream.call(method, parameters, waits ? kLongPoll : upstream.timeout(),
                                     waits ? call.departed : nobody_departs);
    if (!reply) {
        return std::unexpected(RpcError{.code = RpcCode::client_not_connected,
                                        .message = reply.error().sentence,
                                        .object = {},
                                        .status = reply.error().status});
    }
    if (reply->error.empty()) {
        call.result.literal(reply->result);
        return {};
    }
    constexpr int kFirstError = 400;
    return std::unexpected(RpcError{.code = static_cast<RpcCode>(reply->code),
                                    .message = {},
                                    .object = reply->error,
                                    .status = reply->status >= kFirstError ? reply->status : 0});
}

}  // namespace

void forward_methods(std::vector<RpcMethod>& methods, Upstream& upstream) {
    for (RpcMethod& method : methods) {
        if (std::ranges::find(kForwarded, method.name) == kForwarded.end()) continue;
        method.lane = Lane::forward;
        method.description = kDescription;
        method.pass_on = [&upstream, name = method.name](JsonValue parameters, const RpcCall& call) {
            return pass_on(upstream, name, parameters, call);
        };
        if (method.name != "getblocktemplate") continue;
        method.large_reply = true;
        method.lane_of = [](const RpcArguments& arguments) {
            return is_long_poll(arguments[0]) ? Lane::wait : Lane::forward;
        };
    }
}

}  // namespace blockpub
