// SPDX-License-Identifier: MIT
#include "query/http_origin.hpp"

#include "base/ascii.hpp"
#include "base/subnet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace blockpub {

namespace {

// How long a browser may go by an answer before it asks again; some take no more than this.
constexpr int kPreflightSeconds = 7200;

}  // namespace

bool is_origin(std::string_view text) {
    if (text == "*" || text == "null") return true;
    const std::size_t scheme_end = text.find("://");
    if (scheme_end == std::string_view::npos) return false;
    const std::string_view scheme = text.substr(0, scheme_end);
    std::string_view host = text.substr(scheme_end + 3);
    if (const std::size_t colon = host.rfind(':'); colon != std::string_view::npos && !host.ends_with(']')) {
        const std::string_view port = host.substr(colon + 1);
        const bool digits = !port.empty() && std::ranges::all_of(port, is_digit);
        const std::string_view own = equal_ignoring_case(scheme, "http")    ? "80"
                                     : equal_ignoring_case(scheme, "https") ? "443"
                                                                            : "";
        if (!digits || port == own) return false;
        host = host.substr(0, colon);
    }
    const bool bracketed = host.starts_with('[') && host.ends_with(']');
    const auto scheme_character = [](char c) {
        return is_alphanumeric(c) || c == '+' || c == '-' || c == '.';
    };
    const auto host_character = [&](char c) {
        return is_alphanumeric(c) || c == '-' || c == '.' || c == '_' ||
               (bracketed && (c == ':' || c == '[' || c == ']'));
    };
    return !scheme.empty() && !host.empty() && std::ranges::all_of(scheme, scheme_character) &&
           std::ranges::all_of(host, host_character);
}

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
    response.fields +=
        "\r\nAccess-Control-Expose-Headers: ETag, Content-Range, Accept-Ranges, Retry-After\r\n";
}

HttpResponse OriginPolicy::preflight(const HttpHead& request) const {
    const auto origin = request.field("origin");
    if (!origin || !request.field("access-control-request-method"))
        return {.status = 405, .fields = "Allow: GET, HEAD, POST, OPTIONS\r\n"};
    HttpResponse response;
    mark(request, response);
    if (!admits_origin(*origin)) {
        response.status = 403;
        return response;
    }
    response.status = 204;
    response.fields += "Access-Control-Allow-Methods: GET, HEAD, POST\r\n";
    // The names are given back as they are: `*` would leave Authorization out.
    for (const HttpField& field : request.fields) {
        if (equal_ignoring_case(field.name, "access-control-request-headers"))
            response.fields += fmt::format("Access-Control-Allow-Headers: {}\r\n", field.value);
    }
    // What some browsers ask for before a page from the internet may call this machine.
    if (request.field("access-control-request-private-network") == "true")
        response.fields += "Access-Control-Allow-Private-Network: true\r\n";
    response.fields += fmt::format("Access-Control-Max-Age: {}\r\n", kPreflightSeconds);
    return response;
}

}  // namespace blockpub
