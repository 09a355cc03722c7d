// SPDX-License-Identifier: MIT
#include "base/mapped_read.hpp"
#include "query/rest_handlers.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

namespace blockpub {

namespace {

/// Why there is no block, in Core's words for a client.
HttpResponse no_block(const RestCall& call, std::string_view name, const Error& error) {
    if (error.code == Errc::not_found) return rest_error(404, fmt::format("{} not found", name));
    if (error.code == Errc::unavailable) {
        const bool pruned = error.context.find("pruned") != std::string::npos;
        return rest_error(
            404, fmt::format("{} not available ({})", name, pruned ? "pruned data" : "not fully downloaded"));
    }
    return rest_failure(call, error);
}

struct Part {
    std::uint64_t offset;
    std::uint64_t size;
};

/// The block itself, or a part of it, as bytes. What a hash names never changes.
HttpResponse raw_block(const RestCall& call, const BlockHash& hash, std::optional<Part> part) {
    auto raw = call.context.blocks->map_block(hash);
    if (!raw) return no_block(call, call.target.parameter, raw.error());
    std::string tag = hash.display_hex();
    if (part) {
        if (part->size == 0 || part->offset >= raw->size() || part->size > raw->size() - part->offset) {
            return rest_error(400, fmt::format("Bad block part offset/size {}/{} for {}", part->offset,
                                               part->size, call.target.parameter));
        }
        *raw =
            slice_mapped(*raw, static_cast<std::size_t>(part->offset), static_cast<std::size_t>(part->size));
        tag += fmt::format("-{}-{}", part->offset, part->size);
    }
    HttpResponse response = rest_bytes(call.target.format, std::move(*raw));
    response.entity_tag = std::move(tag);
    response.takes_ranges = call.target.format == RestFormat::binary;
    return response;
}

HttpResponse block_json(const RestCall& call, const BlockHash& hash, int verbosity) {
    auto text = rest_method(call, "getblock", fmt::format("[\"{}\",{}]", hash.display_hex(), verbosity));
    if (text) return rest_json(std::move(*text));
    // The method has its own words for a block that is not here.
    const auto raw = call.context.blocks->map_block(hash);
    if (!raw) return no_block(call, call.target.parameter, raw.error());
    return rest_failure(call, {Errc::io, text.error().message});
}

HttpResponse whole_block(const RestCall& call, int verbosity) {
    const auto hash = rest_hash<BlockHash>(call.target.parameter);
    if (!hash) return hash.error();
    switch (call.target.format) {
        case RestFormat::binary:
        case RestFormat::hex:
            return raw_block(call, *hash, std::nullopt);
        case RestFormat::json:
            return block_json(call, *hash, verbosity);
        case RestFormat::none:
            break;
    }
    if (const auto raw = call.context.blocks->map_block(*hash); !raw)
        return no_block(call, call.target.parameter, raw.error());
    return rest_no_format();
}

RestResult<std::uint64_t> part_number(const RestCall& call, std::string_view name) {
    auto text = rest_query(call, name, "");
    if (!text) return std::unexpected(std::move(text.error()));
    if (const auto number = to_integer<std::uint64_t>(*text)) return *number;
    return std::unexpected(rest_error(400, fmt::format("Block part {} missing or invalid", name)));
}

}  // namespace

HttpResponse rest_block(const RestCall& call) {
    return whole_block(call, 3);
}

HttpResponse rest_block_without_details(const RestCall& call) {
    return whole_block(call, 1);
}

HttpResponse rest_block_part(const RestCall& call) {
    auto offset = part_number(call, "offset");
    if (!offset) return std::move(offset.error());
    auto size = part_number(call, "size");
    if (!size) return std::move(size.error());
    const auto hash = rest_hash<BlockHash>(call.target.parameter);
    if (!hash) return hash.error();
    if (call.target.format == RestFormat::binary || call.target.format == RestFormat::hex)
        return raw_block(call, *hash, Part{*offset, *size});
    if (const auto raw = call.context.blocks->map_block(*hash); !raw)
        return no_block(call, call.target.parameter, raw.error());
    if (call.target.format == RestFormat::json)
        return rest_error(400, "JSON output is not supported for this request type");
    return rest_no_format();
}

}  // namespace blockpub
