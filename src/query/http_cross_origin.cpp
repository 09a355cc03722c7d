// SPDX-License-Identifier: MIT
#include "query/http_cross_origin.hpp"

#include <utility>
#include <variant>

namespace blockpub {

std::optional<HttpRefusal> CrossOriginService::admit(HttpRequest& request) {
    if (request.head.method == "OPTIONS") return HttpRefusal{.response = policy_.preflight(request.head)};
    auto refusal = behind_.admit(request);
    if (refusal) policy_.mark(request.head, refusal->response);
    return refusal;
}

HttpAnswer CrossOriginService::answer(HttpRequest& request) {
    HttpAnswer answer = behind_.answer(request);
    if (auto* response = std::get_if<HttpResponse>(&answer)) {
        policy_.mark(request.head, *response);
        return answer;
    }
    HttpJob& job = std::get<HttpJob>(answer);
    job.run = [this, &request, run = std::move(job.run)] {
        HttpResponse response = run();
        policy_.mark(request.head, response);
        return response;
    };
    return answer;
}

}  // namespace blockpub
