// SPDX-License-Identifier: MIT
#pragma once

#include "query/http_server.hpp"
#include "query/rest_target.hpp"
#include "query/rpc_context.hpp"
#include "query/rpc_dispatch.hpp"

#include <blockpub/bytes.hpp>
#include <blockpub/hash.hpp>

#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace blockpub {

/// One REST request, as its handler sees it.
struct RestCall {
    const HttpRequest& request;
    const RestTarget& target;
    const RpcContext& context;
    const RpcMethods& methods;  ///< of JSON-RPC, for the answers that are theirs
};

/// A reply, or the one that says why there is none.
template <class T>
using RestResult = std::expected<T, HttpResponse>;

// Replies. Source: Bitcoin Core v28 src/rest.cpp: errors are text ending in CRLF, digits and JSON end in LF.

[[nodiscard]] HttpResponse rest_error(int status, std::string text);
/// For a failure of ours: the log says more than the client is told.
[[nodiscard]] HttpResponse rest_failure(const RestCall& call, const Error& error);
/// 404: the format is not one of those named.
[[nodiscard]] HttpResponse rest_no_format(std::string_view available = ".bin, .hex, .json");
/// Bytes in the form asked for. Requires: format is binary or hex.
[[nodiscard]] HttpResponse rest_bytes(RestFormat format, ByteSpan bytes);
[[nodiscard]] HttpResponse rest_bytes(RestFormat format, MappedBytes bytes);
[[nodiscard]] HttpResponse rest_json(std::string text);  ///< without its LF

// Parameters.

template <class Hash>
[[nodiscard]] RestResult<Hash> rest_hash(std::string_view text) {
    if (const auto hash = Hash::from_display_hex(text)) return *hash;
    return std::unexpected(rest_error(400, "Invalid hash: " + std::string(text)));
}
/// A value of the query, or what counts without one.
[[nodiscard]] RestResult<std::string> rest_query(const RestCall& call, std::string_view name,
                                                 std::string_view fallback);
/// The number of headers asked for, 1 to 2000.
[[nodiscard]] RestResult<std::size_t> rest_count(std::string_view text);

/// The result of an RPC method as a reply. A method that there is not is one of a mempool that there is not;
/// 400 for a block that is not known. `arguments`: a JSON list.
[[nodiscard]] HttpResponse rest_method(const RestCall& call, std::string_view name,
                                       const std::string& arguments);

}  // namespace blockpub
