// SPDX-License-Identifier: MIT
#include "query/http_router.hpp"

#include "base/check.hpp"

#include <utility>

namespace blockpub {

void HttpRouter::add(std::string path, bool exact, HttpService& service) {
    routes_.push_back({std::move(path), exact, &service});
}

HttpService* HttpRouter::service_for(std::string_view target) const {
    for (const Route& route : routes_) {
        if (route.exact ? target == route.path : target.starts_with(route.path)) return route.service;
    }
    return nullptr;
}

std::optional<HttpRefusal> HttpRouter::admit(HttpRequest& request) {
    // bitcoind knows four methods; what it calls by another name it answers like this whatever the path.
    if (request.head.method == "DELETE") return HttpRefusal{.response = {.status = 405}};
    if (request.head.method == "OPTIONS") {
        return HttpRefusal{
            .response = {
                .status = 501, .content_type = "text/plain", .text = "method not known\r\n", .close = true}};
    }
    if (HttpService* service = service_for(request.head.target)) return service->admit(request);
    return HttpRefusal{.response = {.status = 404}};
}

HttpAnswer HttpRouter::answer(HttpRequest& request) {
    HttpService* service = service_for(request.head.target);
    BLOCKPUB_CHECK(service != nullptr);
    return service->answer(request);
}

}  // namespace blockpub
