// SPDX-License-Identifier: MIT
#pragma once

#include "query/http_origin.hpp"
#include "query/http_server.hpp"
#include "query/rpc_context.hpp"
#include "query/rpc_dispatch.hpp"

#include <optional>

namespace blockpub {

/// bitcoind's REST interface, on the paths that begin with /rest/.
///
/// No password is asked for; see OriginPolicy for whom that lets in.
/// Thread safety: as HttpService.
/// Ownership: borrows the policy, the dispatcher and the context, which is complete when the dispatcher has
/// methods. Source: Bitcoin Core v28 src/rest.cpp. Differs: docs/rest.md.
class RestService final : public HttpService {
 public:
    RestService(const RpcDispatcher& dispatcher, const RpcContext& context, const OriginPolicy& policy)
        : dispatcher_(dispatcher), context_(context), policy_(policy) {}

    [[nodiscard]] std::optional<HttpRefusal> admit(HttpRequest& request) override;
    [[nodiscard]] HttpAnswer answer(HttpRequest& request) override;

 private:
    const RpcDispatcher& dispatcher_;
    const RpcContext& context_;
    const OriginPolicy& policy_;
};

}  // namespace blockpub
