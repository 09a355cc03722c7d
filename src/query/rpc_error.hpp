// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/result.hpp>

#include <expected>
#include <string>
#include <utility>

namespace blockpub {

/// Codes of JSON-RPC error objects. Source: Bitcoin Core v28 src/rpc/protocol.h.
enum class RpcCode : int {
    invalid_request = -32600,
    method_not_found = -32601,
    invalid_params = -32602,
    internal_error = -32603,
    parse_error = -32700,
    misc_error = -1,
    type_error = -3,
    invalid_address_or_key = -5,
    out_of_memory = -7,
    invalid_parameter = -8,
    database_error = -20,
    deserialization_error = -22,
    client_not_connected = -9,
    client_node_already_added = -23,
    client_node_not_added = -24,
    client_node_not_connected = -29,
    client_invalid_ip_or_subnet = -30,
    client_p2p_disabled = -31,
    verify_error = -25,
    transaction_error = -25,
    transaction_rejected = -26,
    transaction_already_confirmed = -27,
    in_warmup = -28,
};

struct RpcError {
    RpcCode code = RpcCode::misc_error;
    std::string message;
    /// The error object as another node wrote it, sent in place of code and message; may be empty.
    std::string object = {};
    int status = 0;  ///< of HTTP, in versions 1.0 and 1.1; 0: the one that fits the code
};

/// What a method returns; its result has been written by then.
using RpcOutcome = std::expected<void, RpcError>;

[[nodiscard]] inline std::unexpected<RpcError> rpc_fail(RpcCode code, std::string message) {
    return std::unexpected(RpcError{.code = code, .message = std::move(message)});
}

/// An Error of another module that no method expects: -1 with its sentence.
[[nodiscard]] inline std::unexpected<RpcError> rpc_fail(const Error& error) {
    return rpc_fail(RpcCode::misc_error, error.context);
}

}  // namespace blockpub
