// SPDX-License-Identifier: MIT
#include "query/http_origin.hpp"

#include "query/subnet.hpp"

#include <algorithm>
#include <utility>

namespace blockpub {

OriginPolicy::OriginPolicy(std::vector<std::string> hosts, std::vector<std::string> origins)
    : hosts_(std::move(hosts)), origins_(std::move(origins)) {}

std::string_view host_name(std::string_view host) {
    if (host.starts_with('[')) {
        const std::size_t end = host.find(']');
        return end == std::string_view::npos ? host : host.substr(1, end - 1);
    }
    const std::size_t colon = host.find(':');
    return host.substr(0, colon);
}

bool OriginPolicy::admits_host(std::string_view host) const {
    const std::string_view name = host_name(host);
    if (name.find('.') == std::string_view::npos && name.find(':') == std::string_view::npos) return true;
    if (IpAddress::parse(std::string(name))) return true;
    return std::ranges::any_of(hosts_,
                               [&](const std::string& known) { return equal_ignoring_case(known, name); });
}

bool OriginPolicy::admits_origin(std::string_view origin) const {
    return std::ranges::any_of(origins_, [&](const std::string& known) {
        return known == "*" || equal_ignoring_case(known, origin);
    });
}

bool OriginPolicy::admits(const HttpHead& request) const {
    std::string_view host;
    for (const HttpField& field : request.fields) {
        if (!equal_ignoring_case(field.name, "host")) continue;
        if (!admits_host(field.value)) return false;
        host = field.value;
    }
    for (const HttpField& field : request.fields) {
        if (!equal_ignoring_case(field.name, "origin")) continue;
        const std::size_t scheme = field.value.find("://");
        const bool same = scheme != std::string_view::npos && !host.empty() &&
                          equal_ignoring_case(field.value.substr(scheme + 3), host);
        if (!same && !admits_origin(field.value)) return false;
    }
    return true;
}

void OriginPolicy::mark(const HttpHead& request, HttpResponse& response) const {
    if (origins_.empty()) return;
    const bool any = std::ranges::find(origins_, "*") != origins_.end();
    if (!any) response.fields += "Vary: Origin\r\n";
    const auto origin = request.field("origin");
    if (!origin || !admits_origin(*origin)) return;
    response.fields += "Access-Control-Allow-Origin: ";
    response.fields += any ? std::string_view("*") : *origin;
    response.fields += "\r\nAccess-Control-Expose-Headers: ETag, Content-Range, Accept-Ranges\r\n";
}

}  // namespace blockpub
