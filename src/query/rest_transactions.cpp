// SPDX-License-Identifier: MIT
#include "base/text_appender.hpp"
#include "chain/mempool_service.hpp"
#include "query/rest_handlers.hpp"
#include "query/transaction_json.hpp"
#include "query/transaction_lookup.hpp"

#include <optional>
#include <utility>

namespace blockpub {

namespace {

/// A transaction, and the block it was found in; none for one of the mempool.
struct FoundTransaction {
    SharedBytes raw;
    std::optional<BlockHash> block;
};

/// The block's header, from a snapshot of its own: none is held while the block is read.
Result<HeaderView> header_of(const RpcContext& context, const BlockHash& hash) {
    const auto snapshot = context.store->snapshot();
    if (!snapshot) return std::unexpected(snapshot.error());
    return header_view(*snapshot, hash);
}

Result<std::optional<FoundTransaction>> find_transaction(const RpcContext& context, const Txid& txid) {
    if (context.mempool != nullptr) {
        if (const auto row = context.mempool->board().find(txid))
            return FoundTransaction{.raw = row->transaction->raw(), .block = {}};
    }
    auto block = indexed_block(context, txid);
    if (!block) return forward_error(block);
    if (!*block) return std::nullopt;
    const auto header = header_of(context, **block);
    if (!header) return std::unexpected(header.error());
    auto found = find_in_block(*context.material, *header, txid);
    if (!found) return forward_error(found);
    if (!*found) return std::nullopt;
    return FoundTransaction{.raw = std::move((*found)->raw), .block = **block};
}

Result<std::string> transaction_json(const FoundTransaction& found, const ChainParams& params) {
    const auto view = TransactionView::parse_whole(found.raw.bytes());
    if (!view) return std::unexpected(view.error());
    std::string text = "{";
    {
        TextAppender out(text);
        auto written = TransactionWriter(out, params).append_members(*view, {.hex = false});
        if (!written) return forward_error(written);
        if (found.block) {
            out.text(",\"blockhash\":\"");
            out.reversed_hex(found.block->wire_bytes());
            out.character('"');
        }
        out.text(",\"hex\":\"");
        out.hex(found.raw.bytes());
        out.text("\"}");
    }
    return text;
}

}  // namespace

HttpResponse rest_transaction(const RestCall& call) {
    const auto txid = rest_hash<Txid>(call.target.parameter);
    if (!txid) return txid.error();
    auto found = find_transaction(call.context, *txid);
    if (!found && found.error().code != Errc::unavailable) return rest_failure(call, found.error());
    if (!found || !*found) return rest_error(404, std::string(call.target.parameter) + " not found");
    if (call.target.format == RestFormat::none) return rest_no_format();
    if (call.target.format != RestFormat::json) return rest_bytes(call.target.format, (*found)->raw.bytes());
    auto text = transaction_json(**found, *call.context.params);
    return text ? rest_json(std::move(*text)) : rest_failure(call, text.error());
}

}  // namespace blockpub
