// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/chain_params.hpp"
#include "primitives/header.hpp"
#include "primitives/script.hpp"
#include "primitives/transaction.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/hash.hpp>
#include <blockpub/result.hpp>
#include <blockpub/store.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace blockpub {

/// What a new block needs to know of the chain that it shall extend.
struct TemplateParent {
    BlockHash hash;
    Height height;
    std::uint32_t time = 0;              ///< the block's own
    std::uint32_t median_time_past = 0;  ///< of it and the ten before
};

/// A block that lacks its nonce.
struct BlockTemplate {
    BlockHeader header;
    std::vector<std::uint8_t> body;  ///< what follows the header
    [[nodiscard]] SharedBytes assemble() const;
};

/// The tip of `snapshot` as a parent. Errors: not_found (no genesis yet), corrupt, io.
[[nodiscard]] Result<TemplateParent> template_parent(const Snapshot& snapshot);

/// The time of a block made now on top of `parent`. `now`: seconds since 1970.
/// Source: Bitcoin Core v28.1 src/node/miner.cpp, UpdateTime.
[[nodiscard]] std::uint32_t template_time(const ChainParams& params, const TemplateParent& parent,
                                          std::int64_t now);

/// The `bits` of a block of that time on top of the tip of `snapshot`, which `parent` was made from.
/// Errors: corrupt, io.
[[nodiscard]] Result<std::uint32_t> template_bits(const ChainParams& params, const Snapshot& snapshot,
                                                  const TemplateParent& parent, std::uint32_t time);

/// A block of these transactions on top of `parent`, as Core's miner lays it out: the subsidy and `fees`
/// to `coinbase_script`; height and OP_0 in the coinbase; a commitment to the witnesses. Errors:
/// invalid_argument (a transaction does not decode). Source: Bitcoin Core v28.1 src/node/miner.cpp,
/// CreateNewBlock; src/validation.cpp, GenerateCoinbaseCommitment. Differs: fees are what the caller says;
/// no version bits are signalled.
[[nodiscard]] Result<BlockTemplate> make_template(const ChainParams& params, const TemplateParent& parent,
                                                  std::uint32_t time, std::uint32_t bits,
                                                  const Script& coinbase_script,
                                                  std::span<const SharedBytes> transactions, Amount fees = 0);

}  // namespace blockpub
