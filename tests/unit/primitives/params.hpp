// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/chain_params.hpp"

namespace blockpub::test {

inline const ChainParams& kMain = chain_params(ChainKind::main);
inline const ChainParams& kTestnet3 = chain_params(ChainKind::testnet3);
inline const ChainParams& kTestnet4 = chain_params(ChainKind::testnet4);
inline const ChainParams& kRegtest = chain_params(ChainKind::regtest);

}  // namespace blockpub::test
