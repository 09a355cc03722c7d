// SPDX-License-Identifier: MIT
#pragma once

#include "query/http_server.hpp"

#include <optional>
#include <string>
#include <vector>

namespace blockpub {

/// Hands each request to the service that its path belongs to; the others are answered with 404.
/// Thread safety: routes are added before the server starts; then any thread.
/// Ownership: borrows the services.
class HttpRouter final : public HttpService {
 public:
    /// Adds a path: exactly this target, or every target that begins with it. The first that fits is taken.
    void add(std::string path, bool exact, HttpService& service);
    [[nodiscard]] std::optional<HttpRefusal> admit(HttpRequest& request) override;
    [[nodiscard]] HttpAnswer answer(HttpRequest& request) override;

 private:
    struct Route {
        std::string path;
        bool exact;
        HttpService* service;
    };
    [[nodiscard]] HttpService* service_for(std::string_view target) const;

    std::vector<Route> routes_;
};

}  // namespace blockpub
