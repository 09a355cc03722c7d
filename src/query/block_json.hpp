// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/chain_params.hpp"
#include "query/block_material.hpp"
#include "query/chain_view.hpp"
#include "query/json_writer.hpp"

#include <blockpub/result.hpp>

#include <cstdint>

namespace blockpub {

/// How much a block's JSON tells of its transactions: getblock's verbosity 1, 2 and 3.
enum class BlockDetail : std::uint8_t { txids, transactions, prevouts };

/// A header as getblockheader shows it.
/// Source: Bitcoin Core v28 src/rpc/blockchain.cpp, blockheaderToJSON.
void write_header_json(JsonWriter& out, const HeaderView& header);

/// Reads what `detail` needs of a block: nothing but the facts for txids, where there are facts.
/// Errors: those of BlockMaterialReader.
[[nodiscard]] Result<BlockMaterial> read_block_material(const BlockMaterialReader& reader,
                                                        const HeaderView& header, BlockDetail detail);

/// A block as getblock shows it. `fee` and `prevout` stand where there is undo data.
/// Requires: material read for this header and detail.
/// Errors: corrupt; `out` has half a value then.
/// Source: Bitcoin Core v28 src/rpc/blockchain.cpp, blockToJSON.
[[nodiscard]] Result<void> write_block_json(JsonWriter& out, const HeaderView& header,
                                            const BlockMaterial& material, BlockDetail detail,
                                            const ChainParams& params);

}  // namespace blockpub
