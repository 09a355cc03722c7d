// SPDX-License-Identifier: MIT
#pragma once

#include "base/log.hpp"
#include "base/subnet.hpp"
#include "query/failed_logins.hpp"
#include "query/http_server.hpp"
#include "query/rpc_auth.hpp"
#include "query/rpc_dispatch.hpp"

#include <vector>

namespace blockpub {

/// JSON-RPC on its path: lets in who may call, before the body is read, and has the dispatcher answer.
/// Thread safety: as HttpService.
/// Ownership: borrows the dispatcher.
/// Source: Bitcoin Core v28 src/httprpc.cpp.
class RpcService final : public HttpService {
 public:
    RpcService(const RpcDispatcher& dispatcher, RpcAuth auth, Logger& logger)
        : dispatcher_(dispatcher), auth_(std::move(auth)), log_(&logger, LogCategory::rpc) {}

    [[nodiscard]] std::optional<HttpRefusal> admit(HttpRequest& request) override;
    [[nodiscard]] HttpAnswer answer(HttpRequest& request) override { return dispatcher_.answer(request); }

 private:
    const RpcDispatcher& dispatcher_;
    const RpcAuth auth_;
    const Log log_;
    FailedLogins failures_;
};

/// Turns away addresses that -rpcallowip does not name, whatever the path.
/// Thread safety: as HttpService.
/// Ownership: borrows the service behind it.
class AddressFilter final : public HttpService {
 public:
    AddressFilter(HttpService& behind, std::vector<Subnet> allowed)
        : behind_(behind), allowed_(std::move(allowed)) {}

    [[nodiscard]] std::optional<HttpRefusal> admit(HttpRequest& request) override;
    [[nodiscard]] HttpAnswer answer(HttpRequest& request) override { return behind_.answer(request); }

 private:
    HttpService& behind_;
    const std::vector<Subnet> allowed_;
};

}  // namespace blockpub
