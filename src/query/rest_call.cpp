// SPDX-License-Identifier: MIT
#include "query/rest_call.hpp"

#include "base/check.hpp"
#include "base/hex.hpp"
#include "base/log.hpp"

#include <fmt/format.h>

#include <utility>

namespace blockpub {

namespace {

constexpr std::size_t kMaxHeaders = 2000;

std::expected<std::string, RpcError> method_json(const RestCall& call, std::string_view name,
                                                 const std::string& arguments) {
    const RpcMethod* method = call.methods.find(name);
    if (method == nullptr) return rpc_fail(RpcCode::method_not_found, "Method not found");
    JsonDocument document;
    BLOCKPUB_CHECK(document.parse(arguments));
    const auto ordered = order_arguments(*method, document.root());
    if (!ordered) return std::unexpected(ordered.error());
    std::string text;
    JsonWriter writer(text);
    if (auto done = method->handler({call.methods, *ordered, writer, call.request.departed}); !done)
        return std::unexpected(done.error());
    return text;
}

}  // namespace

HttpResponse rest_error(int status, std::string text) {
    text += "\r\n";
    return {.status = status, .content_type = "text/plain", .text = std::move(text)};
}

HttpResponse rest_failure(const RestCall& call, const Error& error) {
    Log(call.context.logger, LogCategory::http).error("{}: {}", call.request.head.target, error.context);
    return rest_error(500, "Internal error");
}

HttpResponse rest_no_format(std::string_view available) {
    return rest_error(404, fmt::format("output format not found (available: {})", available));
}

HttpResponse rest_bytes(RestFormat format, ByteSpan bytes) {
    BLOCKPUB_CHECK(format == RestFormat::binary || format == RestFormat::hex);
    if (format == RestFormat::hex) return {.content_type = "text/plain", .text = encode_hex(bytes) + '\n'};
    return {.content_type = "application/octet-stream",
            .text = std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())};
}

HttpResponse rest_bytes(RestFormat format, MappedBytes bytes) {
    BLOCKPUB_CHECK(format == RestFormat::binary || format == RestFormat::hex);
    HttpResponse response;
    if (format == RestFormat::hex) {
        response.content_type = "text/plain";
        response.pieces.emplace_back(HexBytes(std::move(bytes)));
        response.pieces.emplace_back(std::string("\n"));
    } else {
        response.content_type = "application/octet-stream";
        response.pieces.emplace_back(std::move(bytes));
    }
    return response;
}

HttpResponse rest_json(std::string text) {
    text += '\n';
    return {.content_type = "application/json", .text = std::move(text)};
}

RestResult<std::string> rest_query(const RestCall& call, std::string_view name, std::string_view fallback) {
    QueryValue found = query_value(call.request.head.target, name);
    if (found.malformed) {
        return std::unexpected(
            rest_error(400, "URI parsing failed, it likely contained RFC 3986 invalid characters"));
    }
    return found.value ? std::move(*found.value) : std::string(fallback);
}

RestResult<std::size_t> rest_count(std::string_view text) {
    const auto count = to_integer<std::size_t>(text);
    if (count && *count >= 1 && *count <= kMaxHeaders) return *count;
    return std::unexpected(rest_error(
        400,
        fmt::format("Header count is invalid or out of acceptable range (1-{}): {}", kMaxHeaders, text)));
}

HttpResponse rest_method(const RestCall& call, std::string_view name, const std::string& arguments) {
    auto text = method_json(call, name, arguments);
    if (text) return rest_json(std::move(*text));
    if (text.error().code == RpcCode::method_not_found)
        return rest_error(404, "Mempool disabled or instance not found");
    if (text.error().code == RpcCode::invalid_address_or_key)
        return rest_error(400, std::move(text.error().message));
    return rest_failure(call, {Errc::io, text.error().message});
}

}  // namespace blockpub
