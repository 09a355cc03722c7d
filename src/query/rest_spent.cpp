// SPDX-License-Identifier: MIT
#include "base/text_appender.hpp"
#include "chain/undo.hpp"
#include "primitives/wire_writer.hpp"
#include "query/rest_handlers.hpp"
#include "query/script_json.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace blockpub {

namespace {

/// Outputs by transaction, an empty list for the coinbase first.
Result<std::vector<std::uint8_t>> spent_bytes(std::optional<UndoReader> undo) {
    std::vector<std::uint8_t> bytes;
    WireWriter out(bytes);
    const std::size_t transactions = undo ? undo->transaction_count() : 0;
    out.compact_size(transactions + 1);
    out.compact_size(0);
    for (std::size_t i = 0; i < transactions && undo->ok(); ++i) {
        const std::size_t inputs = undo->next_transaction();
        out.compact_size(inputs);
        for (std::size_t k = 0; k < inputs && undo->ok(); ++k) {
            const Coin& coin = undo->next_coin();
            out.output(coin.amount, coin.script);
        }
    }
    if (undo && !undo->ok()) return fail(Errc::corrupt, "undo data does not decode");
    return bytes;
}

void append_spent(TextAppender& out, UndoReader& undo, const ChainParams& params) {
    OutputScriptWriter scripts(out, params);
    for (std::size_t i = 0; i < undo.transaction_count() && undo.ok(); ++i) {
        out.text(",[");
        const std::size_t inputs = undo.next_transaction();
        for (std::size_t k = 0; k < inputs && undo.ok(); ++k) {
            const Coin& coin = undo.next_coin();
            out.text(k == 0 ? "{\"value\":" : ",{\"value\":");
            out.amount(coin.amount);
            out.text(",\"scriptPubKey\":");
            scripts.append(coin.script);
            out.character('}');
        }
        out.character(']');
    }
}

Result<std::string> spent_json(std::optional<UndoReader> undo, const ChainParams& params) {
    std::string text;
    {
        TextAppender out(text);
        out.text("[[]");
        if (undo) append_spent(out, *undo, params);
        out.character(']');
    }
    if (undo && !undo->ok()) return fail(Errc::corrupt, "undo data does not decode");
    return text;
}

/// The block's record, from a snapshot of its own: none is held while the disk is read.
Result<HeaderRecord> record_of(const Store& store, const BlockHash& hash) {
    auto snapshot = store.snapshot();
    if (!snapshot) return forward_error(snapshot);
    return snapshot->header(hash);
}

HttpResponse spent_reply(const RestCall& call, const std::optional<UndoReader>& undo) {
    if (call.target.format == RestFormat::json) {
        auto text = spent_json(undo, *call.context.params);
        return text ? rest_json(std::move(*text)) : rest_failure(call, text.error());
    }
    const auto bytes = spent_bytes(undo);
    return bytes ? rest_bytes(call.target.format, *bytes) : rest_failure(call, bytes.error());
}

}  // namespace

HttpResponse rest_spent_outputs(const RestCall& call) {
    const std::string name(call.target.parameter);
    if (call.target.parts().size() != 1)
        return rest_error(400, "Invalid URI format. Expected /rest/spenttxouts/<hash>.<ext>");
    const auto hash = rest_hash<BlockHash>(name);
    if (!hash) return hash.error();
    const auto record = record_of(*call.context.store, *hash);
    if (!record && record.error().code == Errc::not_found) return rest_error(404, name + " not found");
    if (!record) return rest_failure(call, record.error());

    std::shared_ptr<const StoredUndo> stored;
    std::optional<UndoReader> undo;
    if (record->height.value > 0) {
        auto read = call.context.material->undo(*record);
        if (!read && read.error().code != Errc::unavailable) return rest_failure(call, read.error());
        if (!read || !*read) return rest_error(404, name + " undo not available");
        stored = *std::move(read);
        undo = stored->reader();
    }
    if (call.target.format == RestFormat::none) return rest_no_format();
    HttpResponse response = spent_reply(call, undo);
    response.entity_tag = hash->display_hex() + "-spent";
    response.takes_ranges = call.target.format == RestFormat::binary;
    return response;
}

}  // namespace blockpub
