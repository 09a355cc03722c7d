// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/chain_params.hpp"

namespace blockpub {

inline const ChainParams& regtest() {
    return chain_params(ChainKind::regtest);
}

}  // namespace blockpub
