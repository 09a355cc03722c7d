// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/chain_params.hpp"
#include "query/chain_view.hpp"
#include "query/json_writer.hpp"

#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

namespace blockpub {

/// getdeploymentinfo: the soft forks as they stand for the block that would follow this one.
/// Errors: those of the snapshot; `out` has half a value then.
/// Source: Bitcoin Core v28.1 src/rpc/blockchain.cpp, DeploymentInfo; src/versionbits.cpp; BIP 9.
[[nodiscard]] Result<void> write_deployment_info(JsonWriter& out, const Snapshot& snapshot,
                                                 const HeaderView& header, const ChainParams& params);

}  // namespace blockpub
