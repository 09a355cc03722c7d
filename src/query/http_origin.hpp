// SPDX-License-Identifier: MIT
#pragma once

#include "query/http_message.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

/// Keeps web pages from elsewhere away from paths that ask for no password, and lets those in that were
/// named.
///
/// A page can have a browser send requests to this machine, and a name of its own can be made to mean this
/// machine (DNS rebinding). So a request is refused when it names a host that is a dotted name we were not
/// told of, or an origin other than the host itself. Programs name no origin, and mostly an address.
///
/// Thread safety: immutable.
class OriginPolicy {
 public:
    /// `hosts`: names that may be asked for, beside addresses, names without a dot, and localhost.
    /// `origins`: pages that may read answers. Requires: is_origin of each.
    OriginPolicy(std::vector<std::string> hosts, std::vector<std::string> origins);

    /// Whether the request may be answered.
    [[nodiscard]] bool admits(const HttpHead& request) const;
    /// Whether any page may read answers.
    [[nodiscard]] bool names_origins() const { return !origins_.empty(); }
    /// Tells the browser that the page may read the answer, where it may.
    void mark(const HttpHead& request, HttpResponse& response) const;
    /// Answers OPTIONS, by which a browser asks, without a password, what a page may send: 204 and all that
    /// it asks for if the page was named, 403 if not, 405 to what is no such question.
    [[nodiscard]] HttpResponse preflight(const HttpHead& request) const;

 private:
    [[nodiscard]] bool admits_host(std::string_view host) const;
    [[nodiscard]] bool admits_origin(std::string_view origin) const;

    const std::vector<std::string> hosts_;
    const std::vector<std::string> origins_;
};

/// Whether a browser may call a page so: `scheme://host`, a port behind it where it is not the scheme's own,
/// or `null`. Or else it is `*`, which stands for every page.
[[nodiscard]] bool is_origin(std::string_view text);

/// The name in a Host field, without its port.
[[nodiscard]] std::string_view host_name(std::string_view host);

}  // namespace blockpub
