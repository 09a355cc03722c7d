// SPDX-License-Identifier: MIT
#include "chain/mempool_service.hpp"
#include "primitives/header.hpp"
#include "query/rpc_lookup.hpp"
#include "query/transaction_json.hpp"
#include "query/transaction_lookup.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace blockpub {

namespace {

constexpr const char* kHint = ". Use gettransaction for wallet transactions.";

/// A transaction, and the block it was found in; none for one of the mempool.
struct FoundRawTransaction {
    SharedBytes raw;
    std::optional<HeaderView> header;
    std::size_t position = 0;
};

std::unexpected<RpcError> not_found(std::string sentence) {
    return rpc_fail(RpcCode::invalid_address_or_key, std::move(sentence) + kHint);
}

std::expected<FoundRawTransaction, RpcError> find_in(const RpcContext& context, HeaderView header,
                                                     const Txid& txid) {
    auto found = find_in_block(*context.material, header, txid);
    if (!found) {
        if (found.error().code == Errc::unavailable)
            return rpc_fail(RpcCode::misc_error, "Block not available");
        return unreadable_block(context, header.hash, found.error());
    }
    if (!*found) return not_found("No such transaction found in the provided block");
    return FoundRawTransaction{
        .raw = std::move((*found)->raw), .header = std::move(header), .position = (*found)->position};
}

std::expected<FoundRawTransaction, RpcError> find_anywhere(const RpcContext& context, const Txid& txid) {
    if (context.mempool != nullptr) {
        if (const auto row = context.mempool->board().find(txid))
            return FoundRawTransaction{.raw = row->transaction->raw(), .header = {}};
    }
    const auto block = indexed_block(context, txid);
    if (!block) return rpc_fail(block.error());
    if (*block) {
        auto header = find_header(context, **block);
        if (!header) return std::unexpected(header.error());
        return find_in(context, *std::move(header), txid);
    }
    if (context.tx_index == nullptr) {
        return not_found(
            "No such mempool transaction. Use -txindex or provide a block hash to enable blockchain "
            "transaction queries");
    }
    if (!context.tx_index->status().synced) {
        return not_found(
            "No such mempool transaction. Blockchain transactions are still in the process of being "
            "indexed");
    }
    return not_found("No such mempool or blockchain transaction");
}

std::expected<FoundRawTransaction, RpcError> find(const RpcContext& context, const Txid& txid,
                                                  JsonValue block) {
    if (block.is_null()) return find_anywhere(context, txid);
    const auto hash = hash_argument<BlockHash>(block, "parameter 3");
    if (!hash) return std::unexpected(hash.error());
    auto header = find_header(context, *hash);
    if (!header && header.error().code == RpcCode::invalid_address_or_key)
        return rpc_fail(RpcCode::invalid_address_or_key, "Block hash not found");
    if (!header) return std::unexpected(header.error());
    return find_in(context, *std::move(header), txid);
}

/// Genesis' only transaction, whose txid is the merkle root.
bool is_genesis_coinbase(const ChainParams& params, const Txid& txid) {
    const auto header = BlockHeader::decode(params.genesis);
    return txid.wire_bytes() == header.merkle_root.wire_bytes();
}

/// Undo data at the coins of the transaction, where it has some; `kept` holds what it reads.
std::expected<std::optional<UndoReader>, RpcError> undo_of(const RpcContext& context,
                                                           const FoundRawTransaction& found,
                                                           std::shared_ptr<const StoredUndo>& kept) {
    std::optional<UndoReader> none;
    if (!found.header || found.position == 0) return none;
    const auto unreadable = [] { return rpc_fail(RpcCode::internal_error, kUndoUnreadable); };
    auto stored = context.material->undo(found.header->record);
    if (!stored) return unreadable();
    if (!*stored) return none;
    kept = *std::move(stored);
    UndoReader reader = kept->reader();
    if (reader.transaction_count() < found.position) return unreadable();
    for (std::size_t i = 1; i < found.position; ++i) {
        for (std::size_t coins = reader.next_transaction(); coins > 0 && reader.ok(); --coins)
            (void)reader.next_coin();
    }
    if (!reader.ok()) return unreadable();
    return reader;
}

void write_block_members(JsonWriter& out, const HeaderView& header) {
    out.member("blockhash", header.hash.display_hex());
    if (header.place.confirmations < 0) {
        out.member("confirmations", 0);
        return;
    }
    const std::uint32_t time = BlockHeader::decode(header.record.header).time;
    out.member("confirmations", header.place.confirmations);
    out.member("time", time);
    out.member("blocktime", time);
}

std::expected<int, RpcError> transaction_verbosity(JsonValue value) {
    if (value.is_null()) return 0;
    if (value.kind() == JsonKind::boolean) return value.is_true() ? 1 : 0;
    return int_argument(value);
}

RpcOutcome get_raw_transaction(const RpcContext& context, const RpcCall& call) {
    const auto txid = hash_argument<Txid>(call.arguments[0], "parameter 1");
    if (!txid) return std::unexpected(txid.error());
    if (is_genesis_coinbase(*context.params, *txid)) {
        return rpc_fail(RpcCode::invalid_address_or_key,
                        "The genesis block coinbase is not considered an ordinary transaction and cannot be "
                        "retrieved");
    }
    const auto verbosity = transaction_verbosity(call.arguments[1]);
    if (!verbosity) return std::unexpected(verbosity.error());
    const auto found = find(context, *txid, call.arguments[2]);
    if (!found) return std::unexpected(found.error());
    if (*verbosity <= 0) {
        call.result.hex(found->raw.bytes());
        return {};
    }
    const auto transaction = TransactionView::parse_whole(found->raw.bytes());
    if (!transaction) return rpc_fail(transaction.error());
    std::shared_ptr<const StoredUndo> kept;
    std::optional<UndoReader> undo;
    if (*verbosity > 1) {
        auto reader = undo_of(context, *found, kept);
        if (!reader) return std::unexpected(reader.error());
        undo = *std::move(reader);
    }
    call.result.begin_object();
    if (call.arguments.has(2)) call.result.member("in_active_chain", found->header->place.confirmations >= 0);
    const auto written = write_transaction_members(
        call.result, *transaction,
        {.txid = txid->wire_bytes(), .spent = undo ? &*undo : nullptr, .prevouts = true}, *context.params);
    if (!written) return rpc_fail(written.error());
    if (found->header) write_block_members(call.result, *found->header);
    call.result.end_object();
    return {};
}

}  // namespace

void add_raw_transaction_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    methods.push_back({
        .category = "rawtransactions",
        .name = "getrawtransaction",
        .arguments =
            {{.names = "txid", .type = ArgumentType::hex, .text = "the transaction"},
             {.names = "verbosity|verbose",
              .type = ArgumentType::number,
              .required = false,
              .fallback = "0",
              .text = "0 for the serialized transaction, 1 for an object, 2 for one with fee and prevouts",
              .checked = false},
             {.names = "blockhash",
              .type = ArgumentType::hex,
              .required = false,
              .text = "the block to look into"}},
        .description =
            "One transaction: from a block that is named, or else from the mempool, or from any block "
            "with -txindex.",
        .result =
            "Result (for verbosity = 0):\n\"hex\"    (string) the serialized transaction, with witness\n\n"
            "Result (for verbosity = 1):\n"
            "{                                 (json object)\n"
            "  \"in_active_chain\" : true|false, (boolean, optional) whether the named block is in the "
            "active chain\n"
            "  ...,                            the members of decoderawtransaction\n"
            "  \"hex\" : \"hex\",                  (string) the serialized transaction\n"
            "  \"blockhash\" : \"hex\",            (string, optional) its block\n"
            "  \"confirmations\" : n,            (numeric, optional) blocks from it to the tip; 0 off the "
            "active "
            "chain\n"
            "  \"time\" : xxx,                   (numeric, optional) the block's time\n"
            "  \"blocktime\" : xxx               (numeric, optional) the same\n"
            "}\n\n"
            "Result (for verbosity = 2):\n"
            "{                                 (json object)\n"
            "  ...,                            the same, and\n"
            "  \"fee\" : n,                      (numeric, optional) the fee, where undo data is there\n"
            "  \"vin\" : [                       (json array)\n"
            "    {                             (json object)\n"
            "      ...,\n"
            "      \"prevout\" : {               (json object, optional) the output spent, where undo data "
            "is there\n"
            "        \"generated\" : true|false, (boolean) made by a coinbase\n"
            "        \"height\" : n,             (numeric) height of its block\n"
            "        \"value\" : n,              (numeric) its amount in BTC\n"
            "        \"scriptPubKey\" : {...}    (json object) its script\n"
            "      }\n"
            "    },\n"
            "    ...\n"
            "  ]\n"
            "}\n",
        .example = "\"mytxid\" 1 \"myblockhash\"",
        .json_example = "\"mytxid\", 1, \"myblockhash\"",
        .handler = [&context](const RpcCall& call) { return get_raw_transaction(context, call); },
    });
}

}  // namespace blockpub
