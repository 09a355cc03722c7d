// SPDX-License-Identifier: MIT
#pragma once

#include "daemon/settings.hpp"
#include "primitives/chain_params.hpp"
#include "source/p2p_listener.hpp"
#include "source/p2p_permissions.hpp"

#include <blockpub/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace blockpub {

/// The serving of peers as configured; what the fields mean stands with the options of bitcoind's names.
struct ListenSettings {
    std::vector<PeerEndpoint> endpoints;  ///< none: nobody is served
    std::vector<WhitelistedPeers> whitelist;
    std::size_t max_connections = 125;
    std::uint64_t upload_target = 0;  ///< bytes in a day; 0: no limit
};

/// The port that is listened on unless another is given: one above that of JSON-RPC.
[[nodiscard]] std::uint16_t default_listen_port(const ChainParams& params);

/// `node_file`: the configuration file may be the node's own, and what its lines outside of [blockpub] say of
/// listening is meant for the node. Appends to `warnings` what is passed over for that.
/// Errors: invalid_argument, in bitcoind's words where it has some.
[[nodiscard]] Result<ListenSettings> read_listen_settings(const Settings& settings, const ChainParams& params,
                                                          bool node_file, std::vector<std::string>& warnings);

}  // namespace blockpub
