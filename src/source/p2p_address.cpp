// SPDX-License-Identifier: MIT
#include "source/p2p_address.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <system_error>

namespace blockpub {

Result<PeerAddress> PeerAddress::parse(std::string_view text, std::uint16_t default_port) {
    const auto wrong = [&] {
        return fail(Errc::invalid_argument,
                    fmt::format("{} is no address of a node: give <host>, <host>:<port> or "
                                "[<v6 address>]:<port>",
                                text));
    };
    PeerAddress address{.host = std::string(text), .port = default_port};
    std::string_view port;
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == std::string_view::npos) return wrong();
        address.host = text.substr(1, end - 1);
        const std::string_view rest = text.substr(end + 1);
        if (!rest.empty() && (rest[0] != ':' || rest.size() == 1)) return wrong();
        if (!rest.empty()) port = rest.substr(1);
    } else if (const std::size_t colon = text.find(':');
               colon != std::string_view::npos && text.find(':', colon + 1) == std::string_view::npos) {
        address.host = text.substr(0, colon);
        port = text.substr(colon + 1);
        if (port.empty()) return wrong();
    }
    if (address.host.empty() || address.host.find_first_of(" /@") != std::string::npos) return wrong();
    if (port.empty()) return address;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
    if (error != std::errc() || end != port.data() + port.size() || address.port == 0) return wrong();
    return address;
}

std::string PeerAddress::text() const {
    const bool v6 = host.find(':') != std::string::npos;
    return fmt::format(fmt::runtime(v6 ? "[{}]:{}" : "{}:{}"), host, port);
}

}  // namespace blockpub
