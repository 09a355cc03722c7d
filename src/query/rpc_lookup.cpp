// SPDX-License-Identifier: MIT
#include "query/rpc_lookup.hpp"

#include "base/hex.hpp"
#include "base/log.hpp"
#include "query/rpc_warnings.hpp"

#include <fmt/format.h>

#include <utility>

namespace blockpub {

std::unexpected<RpcError> no_block(const Error& error) {
    if (error.code == Errc::not_found) return rpc_fail(RpcCode::invalid_address_or_key, error.context);
    return rpc_fail(error);
}

std::unexpected<RpcError> unreadable_block(const RpcContext& context, const BlockHash& hash,
                                           const Error& error) {
    if (error.context == kUndoUnreadable) return rpc_fail(RpcCode::internal_error, error.context);
    if (error.code == Errc::not_found || error.code == Errc::unavailable) return no_block(error);
    Log(context.logger, LogCategory::rpc).error("block {}: {}", hash.display_hex(), error.context);
    if (context.unreadable != nullptr) context.unreadable->note(hash, error.context);
    return rpc_fail(RpcCode::misc_error, "Block not found on disk");
}

std::expected<HeaderView, RpcError> find_header(const RpcContext& context, const BlockHash& hash) {
    const auto snapshot = context.store->snapshot();
    if (!snapshot) return rpc_fail(snapshot.error());
    auto header = header_view(*snapshot, hash);
    if (!header) return no_block(header.error());
    return *std::move(header);
}

std::function<bool()> given_up(const RpcContext& context, const RpcCall& call) {
    return [&] { return (context.stopping && context.stopping()) || (call.departed && call.departed()); };
}

std::unexpected<RpcError> given_up_error(const RpcContext& context) {
    const bool stopping = context.stopping && context.stopping();
    return rpc_fail(RpcCode::client_not_connected,
                    stopping ? "Shutting down" : "The client has closed its side of the connection");
}

std::expected<std::vector<std::uint8_t>, RpcError> hex_argument(JsonValue value, std::string_view name) {
    const auto text = string_argument(value);
    if (!text) return std::unexpected(text.error());
    auto bytes = is_hex(*text) ? decode_hex(*text) : std::nullopt;
    if (!bytes) {
        return rpc_fail(RpcCode::invalid_parameter,
                        fmt::format("{} must be hexadecimal string (not '{}')", name, *text));
    }
    return *std::move(bytes);
}

}  // namespace blockpub
