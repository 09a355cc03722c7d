// SPDX-License-Identifier: MIT
#include "base/ascii.hpp"
#include "query/block_json.hpp"
#include "query/chain_view.hpp"
#include "query/rest_handlers.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace blockpub {

namespace {

struct WantedHeaders {
    std::string_view hash;
    std::string count;
};

/// `<count>/<hash>`, or `<hash>` with the count in the query.
RestResult<WantedHeaders> wanted_headers(const RestCall& call) {
    const auto parts = call.target.parts();
    if (parts.size() == 2) return WantedHeaders{parts[1], std::string(parts[0])};
    if (parts.size() != 1) {
        return std::unexpected(
            rest_error(400, "Invalid URI format. Expected /rest/headers/<hash>.<ext>?count=<count>"));
    }
    auto count = rest_query(call, "count", "5");
    if (!count) return std::unexpected(std::move(count.error()));
    return WantedHeaders{parts[0], std::move(*count)};
}

struct FoundHeader {
    BlockHash hash;
    HeaderRecord record;
};

/// Headers of the active chain from a block on; none where it is not in it.
Result<std::vector<FoundHeader>> active_headers(const Snapshot& snapshot, const BlockHash& first,
                                                std::size_t count) {
    std::vector<FoundHeader> headers;
    auto record = snapshot.header(first);
    if (!record && record.error().code == Errc::not_found) return headers;
    if (!record) return forward_error(record);
    auto active = is_active(snapshot, first, record->height);
    if (!active) return forward_error(active);
    if (!*active) return headers;
    headers.push_back({first, std::move(*record)});
    while (headers.size() < count) {
        auto next = snapshot.active(headers.back().record.height.next());
        if (!next && next.error().code == Errc::not_found) return headers;
        if (!next) return forward_error(next);
        record = snapshot.header(*next);
        if (!record) return forward_error(record);
        headers.push_back({*next, std::move(*record)});
    }
    return headers;
}

HttpResponse headers_json(const RestCall& call, const Snapshot& snapshot,
                          const std::vector<FoundHeader>& headers) {
    std::string text;
    JsonWriter writer(text);
    writer.begin_array();
    for (const FoundHeader& header : headers) {
        const auto view = header_view(snapshot, header.hash);
        if (!view) return rest_failure(call, view.error());
        write_header_json(writer, *view);
    }
    writer.end_array();
    return rest_json(std::move(text));
}

/// Digits, dots and the like, as Core leaves of a text from outside.
std::string sanitized(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const bool plain =
            is_alphanumeric(c) || std::string_view(" .,;-_/:?@()").find(c) != std::string_view::npos;
        if (plain) out += c;
    }
    return out;
}

}  // namespace

HttpResponse rest_headers(const RestCall& call) {
    auto wanted = wanted_headers(call);
    if (!wanted) return std::move(wanted.error());
    auto count = rest_count(wanted->count);
    if (!count) return std::move(count.error());
    const auto hash = rest_hash<BlockHash>(wanted->hash);
    if (!hash) return hash.error();
    if (call.target.format == RestFormat::none) return rest_no_format();

    const auto snapshot = call.context.store->snapshot();
    if (!snapshot) return rest_failure(call, snapshot.error());
    const auto headers = active_headers(*snapshot, *hash, *count);
    if (!headers) return rest_failure(call, headers.error());
    if (call.target.format == RestFormat::json) return headers_json(call, *snapshot, *headers);
    std::vector<std::uint8_t> bytes;
    for (const FoundHeader& header : *headers)
        bytes.insert(bytes.end(), header.record.header.begin(), header.record.header.end());
    return rest_bytes(call.target.format, bytes);
}

HttpResponse rest_hash_by_height(const RestCall& call) {
    std::string_view digits = call.target.parameter;
    if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
    const auto height = to_integer<std::int32_t>(digits);
    if (!height || *height < 0) return rest_error(400, "Invalid height: " + sanitized(call.target.parameter));
    const auto snapshot = call.context.store->snapshot();
    if (!snapshot) return rest_failure(call, snapshot.error());
    const auto hash = snapshot->active({static_cast<std::uint32_t>(*height)});
    if (!hash && hash.error().code == Errc::not_found) return rest_error(404, "Block height out of range");
    if (!hash) return rest_failure(call, hash.error());
    switch (call.target.format) {
        case RestFormat::binary:
            return rest_bytes(RestFormat::binary, hash->wire_bytes());
        case RestFormat::hex:
            return {.content_type = "text/plain", .text = hash->display_hex() + '\n'};
        case RestFormat::json:
            return rest_json(fmt::format("{{\"blockhash\":\"{}\"}}", hash->display_hex()));
        case RestFormat::none:
            break;
    }
    return rest_no_format();
}

}  // namespace blockpub
