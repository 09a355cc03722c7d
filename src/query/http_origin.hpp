// SPDX-License-Identifier: MIT
#pragma once

#include "query/http_message.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

/// Keeps web pages from elsewhere away from paths that ask for no password.
///
/// A page can have a browser send requests to this machine, and a name of its own can be made to mean this
/// machine (DNS rebinding). So a request is refused when it names a host that is a dotted name we were not
/// told of, or an origin other than the host itself. Programs name no origin, and mostly an address.
///
/// Thread safety: immutable.
class OriginPolicy {
 public:
    /// `hosts`: names that may be asked for, beside addresses, names without a dot, and localhost.
    /// `origins`: pages that may read answers, as `https://example.org`, or `*`.
    OriginPolicy(std::vector<std::string> hosts, std::vector<std::string> origins);

    /// Whether the request may be answered.
    [[nodiscard]] bool admits(const HttpHead& request) const;
    /// Tells the browser that the page may read the answer, where it may.
    void mark(const HttpHead& request, HttpResponse& response) const;

 private:
    [[nodiscard]] bool admits_host(std::string_view host) const;
    [[nodiscard]] bool admits_origin(std::string_view origin) const;

    const std::vector<std::string> hosts_;
    const std::vector<std::string> origins_;
};

/// The name in a Host field, without its port.
[[nodiscard]] std::string_view host_name(std::string_view host);

}  // namespace blockpub
