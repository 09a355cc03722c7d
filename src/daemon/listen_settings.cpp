// SPDX-License-Identifier: MIT
#include "daemon/listen_settings.hpp"

#include "base/subnet.hpp"
#include "source/p2p_address.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <string_view>

namespace blockpub {
namespace {

/// Looks options up as far as they are meant for us.
class OwnSettings {
 public:
    OwnSettings(const Settings& settings, bool node_file) : settings_(settings), node_file_(node_file) {}

    [[nodiscard]] bool has(std::string_view name) const {
        const auto source = settings_.source_of(name);
        return source && (!node_file_ || *source == SettingSource::command_line ||
                          *source == SettingSource::own_section);
    }
    [[nodiscard]] bool flag(std::string_view name, bool otherwise) const {
        return has(name) ? settings_.flag(name, otherwise) : otherwise;
    }
    [[nodiscard]] std::vector<Setting> list(std::string_view name) const {
        return has(name) ? settings_.list(name) : std::vector<Setting>();
    }
    /// Whether the node's file says something that is not taken.
    [[nodiscard]] bool passed_over(std::string_view name) const {
        return !has(name) && settings_.text(name).value_or("0") != "0";
    }

 private:
    const Settings& settings_;
    const bool node_file_;
};

Result<PeerEndpoint> parse_endpoint(std::string_view option, std::string_view text, std::uint16_t port,
                                    std::uint32_t permissions) {
    auto address = PeerAddress::parse(text, port);
    if (!address || !IpAddress::parse(address->host)) {
        return fail(Errc::invalid_argument, fmt::format("Cannot resolve -{} address: '{}'", option, text));
    }
    if (address->port == 0) {
        return fail(Errc::invalid_argument,
                    fmt::format("Need to specify a port with -{}: '{}'", option, text));
    }
    return PeerEndpoint{.host = std::move(address->host), .port = address->port, .permissions = permissions};
}

Result<void> read_endpoints(const OwnSettings& own, std::uint16_t port,
                            std::vector<PeerEndpoint>& endpoints) {
    for (const Setting& setting : own.list("bind")) {
        constexpr std::string_view kOnion = "=onion";
        std::string_view text = setting.value;
        if (text.ends_with(kOnion)) text.remove_suffix(kOnion.size());
        auto endpoint = parse_endpoint("bind", text, port, kNoPermission);
        if (!endpoint) return forward_error(endpoint);
        endpoints.push_back(std::move(*endpoint));
    }
    const bool bound = !endpoints.empty();
    for (const Setting& setting : own.list("whitebind")) {
        const auto white = parse_white_bind(setting.value);
        if (!white) return std::unexpected(white.error());
        auto endpoint = parse_endpoint("whitebind", white->address, 0, white->permissions);
        if (!endpoint) return forward_error(endpoint);
        endpoints.push_back(std::move(*endpoint));
    }
    if (!bound && endpoints.empty()) endpoints.push_back({.host = {}, .port = port, .permissions = 0});
    return {};
}

/// `500M`, `2g`, …: lower case counts thousands, upper case 1024s; mebibytes without a letter.
Result<std::uint64_t> parse_upload_target(std::string_view text) {
    const auto wrong = [&] {
        return fail(Errc::invalid_argument, fmt::format("Unable to parse -maxuploadtarget: '{}'", text));
    };
    std::string_view digits = text;
    std::uint64_t unit = std::uint64_t{1} << 20;
    constexpr std::string_view kLetters = "kmgtKMGT";
    if (!digits.empty()) {
        if (const std::size_t at = kLetters.find(digits.back()); at != std::string_view::npos) {
            digits.remove_suffix(1);
            unit = 1;
            for (std::size_t i = 0; i <= at % 4; ++i) unit *= at < 4 ? 1000 : 1024;
        }
    }
    const auto count = parse_integer(digits);
    if (!count || *count < 0 || digits.starts_with('+')) return wrong();
    if (static_cast<std::uint64_t>(*count) > std::numeric_limits<std::uint64_t>::max() / unit) return wrong();
    return static_cast<std::uint64_t>(*count) * unit;
}

void warn_of_node_file(const OwnSettings& own, std::vector<std::string>& warnings) {
    std::vector<std::string_view> names;
    for (const std::string_view name : {"listen", "port", "bind", "whitebind"}) {
        if (own.passed_over(name)) names.push_back(name);
    }
    if (names.empty()) return;
    warnings.push_back(fmt::format(
        "{} in bitcoin.conf: taken as said to the node; to have peers served from here, say it on "
        "the command line or in section [blockpub].",
        fmt::join(names, ", ")));
}

}  // namespace

std::uint16_t default_listen_port(const ChainParams& params) {
    return static_cast<std::uint16_t>(params.rpc_port + 1);
}

Result<ListenSettings> read_listen_settings(const Settings& settings, const ChainParams& params,
                                            bool node_file, std::vector<std::string>& warnings) {
    const OwnSettings own(settings, node_file);
    warn_of_node_file(own, warnings);
    ListenSettings listen;
    const bool bound = !own.list("bind").empty() || !own.list("whitebind").empty();
    const bool wanted = own.flag("listen", bound);
    if (bound && !wanted) {
        return fail(Errc::invalid_argument, "Cannot set -bind or -whitebind together with -listen=0");
    }
    for (const Setting& setting : settings.list("whitelist")) {
        auto listed = parse_whitelist(setting.value);
        if (!listed) return forward_error(listed);
        listen.whitelist.push_back(*listed);
    }
    const auto target = parse_upload_target(settings.text("maxuploadtarget").value_or("0"));
    if (!target) return std::unexpected(target.error());
    listen.upload_target = *target;
    listen.max_connections = static_cast<std::size_t>(settings.integer("maxconnections", 125));
    if (!wanted) return listen;
    const std::int64_t port = own.has("port") ? settings.integer("port", 0) : default_listen_port(params);
    if (port == 0) return fail(Errc::invalid_argument, "Invalid port specified in -port: '0'");
    if (auto read = read_endpoints(own, static_cast<std::uint16_t>(port), listen.endpoints); !read)
        return forward_error(read);
    return listen;
}

}  // namespace blockpub
