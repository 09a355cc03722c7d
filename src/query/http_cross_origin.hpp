// SPDX-License-Identifier: MIT
#pragma once

#include "query/http_origin.hpp"
#include "query/http_server.hpp"

#include <optional>

namespace blockpub {

/// Lets web pages from the named origins call the service behind it: answers what browsers ask beforehand,
/// and tells them with every answer, refusals too, that the page may read it.
///
/// Which requests are let in stays that service's decision. A page has no password but what it brings along:
/// browsers are not told to send one that they remember.
/// Thread safety: as HttpService.
/// Ownership: borrows the service and the policy.
/// Source: Fetch Standard, section "HTTP-network-or-cache fetch" and "CORS-preflight fetch".
class CrossOriginService final : public HttpService {
 public:
    CrossOriginService(HttpService& behind, const OriginPolicy& policy) : behind_(behind), policy_(policy) {}

    [[nodiscard]] std::optional<HttpRefusal> admit(HttpRequest& request) override;
    [[nodiscard]] HttpAnswer answer(HttpRequest& request) override;

 private:
    HttpService& behind_;
    const OriginPolicy& policy_;
};

}  // namespace blockpub
