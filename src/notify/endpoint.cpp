// SPDX-License-Identifier: MIT
#include "notify/endpoint.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>

namespace blockpub {
namespace {

constexpr std::string_view kTcp = "tcp://";
constexpr std::string_view kIpc = "ipc://";
constexpr std::string_view kUnix = "unix:";
/// The terminating zero takes one byte of a socket address.
constexpr std::size_t kLongestPath = sizeof(sockaddr_un::sun_path) - 1;

std::unexpected<Error> refuse(std::string_view text, std::string_view reason,
                              Errc code = Errc::invalid_argument) {
    return fail(code, fmt::format("endpoint '{}': {}", text, reason));
}

std::optional<std::string> canonical_ipv4(const std::string& host) {
    in_addr address{};
    if (inet_pton(AF_INET, host.c_str(), &address) != 1) return std::nullopt;
    return host;  // inet_pton takes one spelling only
}

/// Shortest spelling of an IPv6 address, with the zone of a link-local one behind `%`.
std::optional<std::string> canonical_ipv6(const std::string& host) {
    const std::size_t percent = host.find('%');
    const std::string zone = percent == std::string::npos ? "" : host.substr(percent);
    in6_addr address{};
    if (inet_pton(AF_INET6, host.substr(0, percent).c_str(), &address) != 1) return std::nullopt;
    if (!zone.empty() && if_nametoindex(zone.c_str() + 1) == 0) return std::nullopt;
    std::array<char, INET6_ADDRSTRLEN> buffer{};
    return std::string(inet_ntop(AF_INET6, &address, buffer.data(), buffer.size())) + zone;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
    if (text == "*") return std::uint16_t{0};
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc{} || end != text.data() + text.size() || port == 0 || text.size() > 5)
        return std::nullopt;
    return port;
}

Result<Endpoint> parse_tcp(std::string_view text, std::string_view rest) {
    const std::size_t colon = rest.rfind(':');
    if (colon == std::string_view::npos) return refuse(text, "no port (tcp://host:port)");
    const std::string host(rest.substr(0, colon));
    const auto port = parse_port(rest.substr(colon + 1));
    if (!port) return refuse(text, "the port is not a number from 1 to 65535, nor *");
    Endpoint endpoint;
    endpoint.port = *port;
    if (host.empty()) return refuse(text, "no host (* is every IPv4 address of this machine)");
    if (host.front() == '[' || host.back() == ']') {
        const bool closed = host.front() == '[' && host.back() == ']' && host.size() > 2;
        const auto address = closed ? canonical_ipv6(host.substr(1, host.size() - 2)) : std::nullopt;
        if (!address) return refuse(text, "not an IPv6 address between the brackets");
        endpoint.host = *address;
        endpoint.ipv6 = true;
        return endpoint;
    }
    if (host.find(':') != std::string::npos) {
        return refuse(text, canonical_ipv6(host) ? "an IPv6 address stands in brackets" : "a colon too many");
    }
    if (host == "*") {
        endpoint.host = host;
    } else if (host == "localhost") {
        endpoint.host = "127.0.0.1";  // libzmq resolves no names when it binds
    } else if (const auto address = canonical_ipv4(host)) {
        endpoint.host = *address;
    } else if (host.size() < IFNAMSIZ && if_nametoindex(host.c_str()) != 0) {
        endpoint.host = host;
    } else {
        return refuse(text, fmt::format("'{}' is neither an address nor an interface of this machine", host));
    }
    return endpoint;
}

Result<Endpoint> parse_ipc(std::string_view text, std::string_view path) {
    if (path.empty() || path == "@") return refuse(text, "no path");
    if (path.size() > kLongestPath) {
        return refuse(
            text, fmt::format("the path has {} bytes, a socket's has room for {}", path.size(), kLongestPath),
            Errc::limit);
    }
    if (path.back() == '/') return refuse(text, "the path is a directory's");
    Endpoint endpoint;
    endpoint.transport = Endpoint::Transport::ipc;
    endpoint.path = path;
    return endpoint;
}

/// Path behind `unix:`, where two slashes before an absolute path are taken for a scheme's.
std::string_view unix_path(std::string_view text) {
    std::string_view path = text.substr(kUnix.size());
    if (path.starts_with("//")) path.remove_prefix(2);
    return path;
}

bool is_loopback_interface(const std::string& name) {
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) return false;
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
    for (const ifaddrs* item = list; item != nullptr; item = item->ifa_next) {
        if (name == item->ifa_name) return (item->ifa_flags & IFF_LOOPBACK) != 0;
    }
    return false;
}

bool is_loopback_ipv6(const std::string& host) {
    in6_addr address{};
    if (inet_pton(AF_INET6, host.substr(0, host.find('%')).c_str(), &address) != 1) return false;
    if (IN6_IS_ADDR_V4MAPPED(&address)) return address.s6_addr[12] == IN_LOOPBACKNET;
    return IN6_IS_ADDR_LOOPBACK(&address);
}

}  // namespace

std::string Endpoint::canonical() const {
    if (transport == Transport::ipc) return fmt::format("{}{}", kIpc, path);
    const std::string shown_port = port == 0 ? "*" : std::to_string(port);
    return ipv6 ? fmt::format("{}[{}]:{}", kTcp, host, shown_port)
                : fmt::format("{}{}:{}", kTcp, host, shown_port);
}

Result<Endpoint> parse_endpoint(std::string_view text) {
    const auto hostile = [](unsigned char c) { return c <= ' ' || c == 0x7f; };
    if (std::ranges::any_of(text, hostile)) {
        std::string shown(text);
        std::ranges::replace_if(shown, hostile, '?');
        return refuse(shown, "a blank or a control character");
    }
    if (text.starts_with(kTcp)) return parse_tcp(text, text.substr(kTcp.size()));
    if (text.starts_with(kIpc)) return parse_ipc(text, text.substr(kIpc.size()));
    if (text.starts_with(kUnix)) return parse_ipc(text, unix_path(text));
    return refuse(text, "does not begin with tcp://, ipc:// or unix:");
}

std::string reported_address(std::string_view text) {
    return text.starts_with(kUnix) ? fmt::format("{}{}", kIpc, unix_path(text)) : std::string(text);
}

bool beyond_loopback(const Endpoint& endpoint) {
    if (endpoint.transport == Endpoint::Transport::ipc) return false;
    if (endpoint.ipv6) return !is_loopback_ipv6(endpoint.host);
    in_addr address{};
    if (inet_pton(AF_INET, endpoint.host.c_str(), &address) == 1) {
        return (ntohl(address.s_addr) >> 24) != IN_LOOPBACKNET;
    }
    return endpoint.host == "*" || !is_loopback_interface(endpoint.host);
}

}  // namespace blockpub
