// SPDX-License-Identifier: MIT
#include "query/upstream_url.hpp"

#include "base/ascii.hpp"
#include "base/hex.hpp"
#include "base/subnet.hpp"
#include "query/http_head.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace blockpub {
namespace {

constexpr std::string_view kScheme = "http://";

std::unexpected<Error> wrong(std::string sentence) {
    return fail(Errc::invalid_argument, std::move(sentence));
}

Result<std::string> percent_decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        const auto byte = decode_hex(text.substr(i + 1, 2));
        if (!byte || byte->size() != 1) return wrong("a % in user or password must be spelled %25");
        out += static_cast<char>(byte->front());
        i += 2;
    }
    return out;
}

Result<std::string> login_from(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos || colon == 0)
        return wrong("what precedes the @ must be user:password");
    auto user = percent_decoded(text.substr(0, colon));
    if (!user) return user;
    auto password = percent_decoded(text.substr(colon + 1));
    if (!password) return password;
    if (user->find(':') != std::string::npos) return wrong("a user's name cannot hold a colon");
    return *user + ':' + *password;
}

bool is_host_character(char c) {
    return is_alphanumeric(c) || c == '.' || c == '-' || c == '_';
}

Result<std::uint16_t> port_from(std::string_view digits) {
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (error != std::errc() || end != digits.data() + digits.size() || port == 0)
        return wrong("what follows the host's colon is no port");
    return port;
}

/// Takes `host`, `host:port`, `[v6]` or `[v6]:port` apart.
Result<void> take_authority(std::string_view text, UpstreamUrl& url) {
    std::string_view rest;
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        const auto address = text.substr(1, end == std::string_view::npos ? end : end - 1);
        if (end == std::string_view::npos || !IpAddress::parse(address)) return wrong("not an IPv6 address");
        url.host = std::string(address);
        rest = text.substr(end + 1);
    } else {
        const std::size_t colon = text.find(':');
        url.host = std::string(text.substr(0, colon));
        rest = text.substr(std::min(colon, text.size()));
        if (url.host.empty() || !std::ranges::all_of(url.host, is_host_character)) return wrong("not a host");
    }
    if (rest.empty()) return {};
    if (rest.front() != ':') return wrong("not a host and a port");
    auto port = port_from(rest.substr(1));
    if (!port) return forward_error(port);
    url.port = *port;
    return {};
}

}  // namespace

std::string UpstreamUrl::shown() const {
    const bool bracketed = host.find(':') != std::string::npos;
    return fmt::format("http://{}{}{}:{}{}", bracketed ? "[" : "", host, bracketed ? "]" : "", port,
                       target == "/" ? "" : target);
}

bool UpstreamUrl::is_loopback() const {
    if (equal_ignoring_case(host, "localhost")) return true;
    const auto address = IpAddress::parse(host);
    return address && address->is_loopback();
}

Result<UpstreamUrl> parse_upstream_url(std::string_view text, std::uint16_t default_port) {
    if (text.size() < kScheme.size() || !equal_ignoring_case(text.substr(0, kScheme.size()), kScheme))
        return wrong("give http://host:port (https is not spoken)");
    text.remove_prefix(kScheme.size());
    UpstreamUrl url;
    url.port = default_port;
    // Passwords are often written as they are: what precedes the last @ is one.
    if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
        auto login = login_from(text.substr(0, at));
        if (!login) return forward_error(login);
        url.login = std::move(*login);
        text.remove_prefix(at + 1);
    }
    const std::size_t slash = text.find('/');
    if (slash != std::string_view::npos) url.target = std::string(text.substr(slash));
    if (!std::ranges::all_of(url.target, [](char c) { return c > ' ' && c < '\x7f' && c != '#'; }))
        return wrong("its path holds what no path may hold");
    if (auto taken = take_authority(text.substr(0, slash), url); !taken) return forward_error(taken);
    return url;
}

}  // namespace blockpub
