// SPDX-License-Identifier: MIT
#include "query/rpc_service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace blockpub {

namespace {

constexpr std::chrono::milliseconds kWrongPasswordDelay{250};

HttpResponse unauthorized() {
    return {.status = 401, .fields = "WWW-Authenticate: Basic realm=\"jsonrpc\"\r\n"};
}

}  // namespace

std::optional<HttpRefusal> RpcService::admit(HttpRequest& request) {
    if (request.head.method != "POST") {
        return HttpRefusal{.response = {.status = 405, .text = "JSONRPC server handles only POST requests"}};
    }
    const auto authorization = request.head.field("authorization");
    if (!authorization) return HttpRefusal{.response = unauthorized()};
    auto user = auth_.user_of(*authorization);
    if (!user) {
        if (const auto left_out = failures_.note(std::chrono::steady_clock::now())) {
            log_.warning(
                "incorrect password attempt from {}{}", request.peer_name,
                *left_out == 0 ? "" : fmt::format(" ({} more since the last one logged)", *left_out));
        }
        return HttpRefusal{.response = unauthorized(), .delay = kWrongPasswordDelay};
    }
    request.user = std::move(*user);
    return std::nullopt;
}

std::optional<HttpRefusal> AddressFilter::admit(HttpRequest& request) {
    const bool allowed =
        request.peer.is_loopback() ||
        std::ranges::any_of(allowed_, [&](const Subnet& subnet) { return subnet.contains(request.peer); });
    if (!allowed) return HttpRefusal{.response = {.status = 403}};
    return behind_.admit(request);
}

}  // namespace blockpub
