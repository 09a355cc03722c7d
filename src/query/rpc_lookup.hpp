// SPDX-License-Identifier: MIT
#pragma once

#include "query/chain_view.hpp"
#include "query/rpc_context.hpp"

#include <expected>
#include <functional>

namespace blockpub {

// What several methods do to find and read a block, and to end early, with Core's error codes and texts.

/// Error of a look-up by hash: -5 where the hash is unknown.
[[nodiscard]] std::unexpected<RpcError> no_block(const Error& error);
/// A block that cannot be read: -1; what no client can mend is logged.
[[nodiscard]] std::unexpected<RpcError> unreadable_block(const RpcContext& context, const BlockHash& hash,
                                                         const Error& error);
/// A header and its place, from a snapshot of its own.
[[nodiscard]] std::expected<HeaderView, RpcError> find_header(const RpcContext& context,
                                                              const BlockHash& hash);
/// The bytes of hexadecimal digits. Errors: -8, calling the argument `name`.
[[nodiscard]] std::expected<std::vector<std::uint8_t>, RpcError> hex_argument(JsonValue value,
                                                                              std::string_view name);

/// Whether long work for a call should end where it is: the daemon stops, or the client has gone.
[[nodiscard]] std::function<bool()> given_up(const RpcContext& context, const RpcCall& call);
/// The error that work ends with then.
[[nodiscard]] std::unexpected<RpcError> given_up_error(const RpcContext& context);

}  // namespace blockpub
