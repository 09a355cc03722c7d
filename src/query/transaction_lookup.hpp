// SPDX-License-Identifier: MIT
#pragma once

#include "primitives/transaction.hpp"
#include "query/block_material.hpp"
#include "query/chain_view.hpp"
#include "query/rpc_context.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/hash.hpp>
#include <blockpub/result.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>

namespace blockpub {

/// A transaction and where it stands in its block.
struct TransactionInBlock {
    SharedBytes raw;
    std::size_t position = 0;
};

/// Looks for a transaction in one block. Nothing when it is not there.
/// Errors: those of BlockMaterialReader.
[[nodiscard]] Result<std::optional<TransactionInBlock>> find_in_block(const BlockMaterialReader& reader,
                                                                      const HeaderView& header,
                                                                      const Txid& txid);

/// The block in which the index (-txindex) has the first transaction; else the block of the active chain that
/// made a coin of the first that still has one. Nothing where neither knows. Requires: txids sorted, not
/// empty. Errors: stopped; those of the coins, of the store, and of the index.
/// Blocking: looks up a coin for every output that a transaction can have; ends where it is once `given_up`.
[[nodiscard]] Result<std::optional<BlockHash>> block_of_any(const RpcContext& context,
                                                            std::span<const Txid> txids,
                                                            const std::function<bool()>& given_up);

/// The block in which the index has a transaction, or that holds it among those that the index has still to
/// see. Nothing without an index, and where it does not know.
[[nodiscard]] Result<std::optional<BlockHash>> indexed_block(const RpcContext& context, const Txid& txid);

}  // namespace blockpub
