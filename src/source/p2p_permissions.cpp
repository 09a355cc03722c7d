// SPDX-License-Identifier: MIT
#include "source/p2p_permissions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace blockpub {
namespace {

struct NamedPermission {
    std::string_view name;
    std::uint32_t bits;
};
// In bitcoind's order of listing.
constexpr std::array<NamedPermission, 7> kNamed{{{"bloomfilter", kBloomFilterPermission},
                                                 {"noban", kNoBanPermission},
                                                 {"forcerelay", kForceRelayPermission},
                                                 {"relay", kRelayPermission},
                                                 {"mempool", kMempoolPermission},
                                                 {"download", kDownloadPermission},
                                                 {"addr", kAddrPermission}}};

struct Prefix {
    std::uint32_t permissions = kImplicitPermissions;
    bool in = false;
    bool out = false;
    std::string_view rest;
};

Result<std::uint32_t> named_bits(std::string_view name) {
    if (name == "all") return kAllPermissions;
    if (name == "bloom") return kBloomFilterPermission;
    const auto* const found = std::ranges::find(kNamed, name, &NamedPermission::name);
    if (found == kNamed.end())
        return fail(Errc::invalid_argument, fmt::format("Invalid P2P permission: '{}'", name));
    return found->bits;
}

Result<Prefix> take_prefix(std::string_view text) {
    Prefix prefix;
    const std::size_t at = text.find('@');
    prefix.rest = text.substr(at == std::string_view::npos ? 0 : at + 1);
    if (at == std::string_view::npos) return prefix;
    prefix.permissions = kNoPermission;
    for (std::string_view names = text.substr(0, at); !names.empty();) {
        const std::size_t comma = std::min(names.find(','), names.size());
        const std::string_view name = names.substr(0, comma);
        names.remove_prefix(std::min(comma + 1, names.size()));
        if (name == "in" || name == "out") {
            (name == "in" ? prefix.in : prefix.out) = true;
        } else if (!name.empty()) {
            const auto bits = named_bits(name);
            if (!bits) return std::unexpected(bits.error());
            prefix.permissions |= *bits;
        }
    }
    return prefix;
}

}  // namespace

std::vector<std::string> permission_names(std::uint32_t permissions) {
    std::vector<std::string> names;
    for (const NamedPermission& named : kNamed) {
        if ((permissions & named.bits) == named.bits) names.emplace_back(named.name);
    }
    return names;
}

Result<WhitelistedPeers> parse_whitelist(std::string_view text) {
    const auto prefix = take_prefix(text);
    if (!prefix) return std::unexpected(prefix.error());
    const auto subnet = Subnet::parse(prefix->rest);
    if (!subnet) {
        return fail(Errc::invalid_argument,
                    fmt::format("Invalid netmask specified in -whitelist: '{}'", prefix->rest));
    }
    return WhitelistedPeers{
        .subnet = *subnet, .permissions = prefix->permissions, .incoming = prefix->in || !prefix->out};
}

Result<WhiteBind> parse_white_bind(std::string_view text) {
    const auto prefix = take_prefix(text);
    if (!prefix) return std::unexpected(prefix.error());
    if (prefix->out) {
        return fail(Errc::invalid_argument,
                    "whitebind may only be used for incoming connections (\"out\" was passed)");
    }
    return WhiteBind{.permissions = prefix->permissions, .address = std::string(prefix->rest)};
}

}  // namespace blockpub
