// SPDX-License-Identifier: MIT
#pragma once

#include "base/subnet.hpp"

#include <blockpub/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

/// What a peer that came may do beyond others.
/// Source: Bitcoin Core v28.1 src/net_permissions.h.
enum PeerPermissions : std::uint32_t {
    kNoPermission = 0,
    kBloomFilterPermission = 1U << 1,  ///< shown alone: there are no filters here
    kRelayPermission = 1U << 3,        ///< shown alone: no transactions are taken from who comes
    kForceRelayPermission = 1U << 2 | kRelayPermission,
    kMempoolPermission = 1U << 5,                      ///< may ask for the whole mempool
    kDownloadPermission = 1U << 6,                     ///< is not held to -maxuploadtarget
    kNoBanPermission = 1U << 4 | kDownloadPermission,  ///< bans do not concern it, and its place is its own
    kAddrPermission = 1U << 7,                         ///< shown alone: no addresses are told
    kImplicitPermissions =                             ///< where none is named
    kDownloadPermission | kNoBanPermission | kMempoolPermission | kRelayPermission,
    kAllPermissions = kBloomFilterPermission | kForceRelayPermission | kNoBanPermission | kMempoolPermission |
                      kAddrPermission,
};

[[nodiscard]] constexpr bool has_permission(std::uint32_t permissions, PeerPermissions wanted) {
    return (permissions & wanted) == wanted;
}

/// Their names, as in getpeerinfo.
[[nodiscard]] std::vector<std::string> permission_names(std::uint32_t permissions);

/// One value of -whitelist.
struct WhitelistedPeers {
    Subnet subnet;
    std::uint32_t permissions = kNoPermission;
    bool incoming = true;  ///< holds for peers that came
};
/// `[permissions@]address or network`. Errors: invalid_argument, in bitcoind's words.
[[nodiscard]] Result<WhitelistedPeers> parse_whitelist(std::string_view text);

/// The part before the address in a value of -whitebind, and the rest.
struct WhiteBind {
    std::uint32_t permissions = kNoPermission;
    std::string address;
};
/// Errors: as parse_whitelist; the address is not looked at.
[[nodiscard]] Result<WhiteBind> parse_white_bind(std::string_view text);

}  // namespace blockpub
