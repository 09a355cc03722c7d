// SPDX-License-Identifier: MIT
#include "base/mapped_read.hpp"
#include "query/block_json.hpp"
#include "query/rest_handlers.hpp"
#include "query/rpc_warnings.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

namespace blockpub {

namespace {

Result<HeaderView> header_of(const RestCall& call, const BlockHash& hash) {
    auto snapshot = call.context.store->snapshot();
    if (!snapshot) return forward_error(snapshot);
    return header_view(*snapshot, hash);
}

/// Why there is no block, in Core's words for a client.
HttpResponse no_block(const RestCall& call, const BlockHash& hash, const Error& error) {
    const std::string_view name = call.target.parameter;
    if (error.code == Errc::not_found) return rest_error(404, fmt::format("{} not found", name));
    if (error.code == Errc::unavailable) {
        auto header = header_of(call, hash);
        if (!header) return rest_failure(call, header.error());
        // What a record still names was pruned between that and the read.
        const bool pruned =
            (header->record.status & HeaderRecord::kPruned) != 0 || header->record.block.has_value();
        return rest_error(
            404, fmt::format("{} not available ({})", name, pruned ? "pruned data" : "not fully downloaded"));
    }
    if (call.context.unreadable != nullptr) call.context.unreadable->note(hash, error.context);
    return rest_failure(call, error);
}

struct Part {
    std::uint64_t offset;
    std::uint64_t size;
};

/// The block itself, or a part of it, as bytes. What a hash names never changes.
HttpResponse raw_block(const RestCall& call, const BlockHash& hash, std::optional<Part> part) {
    auto raw = call.context.blocks->map_block(hash);
    if (!raw) return no_block(call, hash, raw.error());
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

HttpResponse block_json(const RestCall& call, const BlockHash& hash, BlockDetail detail) {
    const auto header = header_of(call, hash);
    if (!header) return no_block(call, hash, header.error());
    const auto material = read_block_material(*call.context.material, *header, detail);
    if (!material) return no_block(call, hash, material.error());
    std::string text;
    JsonWriter out(text);
    const auto written = write_block_json(out, *header, *material, detail, *call.context.params);
    if (!written) return no_block(call, hash, written.error());
    return rest_json(std::move(text));
}

/// Answers a path that has no form: what is wrong with the block comes first.
HttpResponse not_as_asked(const RestCall& call, const BlockHash& hash, HttpResponse otherwise) {
    const auto raw = call.context.blocks->map_block(hash);
    return raw ? std::move(otherwise) : no_block(call, hash, raw.error());
}

HttpResponse whole_block(const RestCall& call, BlockDetail detail) {
    const auto hash = rest_hash<BlockHash>(call.target.parameter);
    if (!hash) return hash.error();
    switch (call.target.format) {
        case RestFormat::binary:
        case RestFormat::hex:
            return raw_block(call, *hash, std::nullopt);
        case RestFormat::json:
            return block_json(call, *hash, detail);
        case RestFormat::none:
            break;
    }
    return not_as_asked(call, *hash, rest_no_format());
}

RestResult<std::uint64_t> part_number(const RestCall& call, std::string_view name) {
    auto text = rest_query(call, name, "");
    if (!text) return std::unexpected(std::move(text.error()));
    if (const auto number = to_integer<std::uint64_t>(*text)) return *number;
    return std::unexpected(rest_error(400, fmt::format("Block part {} missing or invalid", name)));
}

}  // namespace

HttpResponse rest_block(const RestCall& call) {
    return whole_block(call, BlockDetail::prevouts);
}

HttpResponse rest_block_without_details(const RestCall& call) {
    return whole_block(call, BlockDetail::txids);
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
    return not_as_asked(call, *hash,
                        call.target.format == RestFormat::json
                            ? rest_error(400, "JSON output is not supported for this request type")
                            : rest_no_format());
}

}  // namespace blockpub
