// SPDX-License-Identifier: MIT
#include "query/block_json.hpp"
#include "query/block_material.hpp"
#include "query/rpc_lookup.hpp"

namespace blockpub {

namespace {

std::expected<int, RpcError> verbosity_argument(JsonValue value) {
    if (value.is_null()) return 1;
    if (value.kind() == JsonKind::boolean) return value.is_true() ? 1 : 0;
    return int_argument(value);
}

BlockDetail detail_of(int verbosity) {
    if (verbosity == 1) return BlockDetail::txids;
    return verbosity == 2 ? BlockDetail::transactions : BlockDetail::prevouts;
}

RpcOutcome get_block(const RpcContext& context, const RpcCall& call) {
    const auto hash = hash_argument<BlockHash>(call.arguments[0], "blockhash");
    if (!hash) return std::unexpected(hash.error());
    const auto verbosity = verbosity_argument(call.arguments[1]);
    if (!verbosity) return std::unexpected(verbosity.error());
    if (*verbosity <= 0) {
        const auto raw = context.blocks->map_block(*hash);
        if (!raw) return unreadable_block(context, *hash, raw.error());
        if (const auto written = call.result.hex(*raw); !written)
            return unreadable_block(context, *hash, written.error());
        return {};
    }
    const auto header = find_header(context, *hash);
    if (!header) return std::unexpected(header.error());
    const BlockDetail detail = detail_of(*verbosity);
    const auto material = read_block_material(*context.material, *header, detail);
    if (!material) return unreadable_block(context, *hash, material.error());
    const auto written = write_block_json(call.result, *header, *material, detail, *context.params);
    if (!written) return unreadable_block(context, *hash, written.error());
    return {};
}

RpcOutcome get_block_header(const RpcContext& context, const RpcCall& call) {
    const auto hash = hash_argument<BlockHash>(call.arguments[0], "hash");
    if (!hash) return std::unexpected(hash.error());
    const bool verbose = !call.arguments.has(1) || call.arguments[1].is_true();
    const auto header = find_header(context, *hash);
    if (!header) return std::unexpected(header.error());
    if (verbose) {
        write_header_json(call.result, *header);
    } else {
        call.result.hex(header->record.header);
    }
    return {};
}

RpcOutcome get_block_hash(const RpcContext& context, const RpcCall& call) {
    const auto height = int_argument(call.arguments[0]);
    if (!height) return std::unexpected(height.error());
    auto snapshot = context.store->snapshot();
    if (!snapshot) return rpc_fail(snapshot.error());
    const auto out_of_range = [] {
        return rpc_fail(RpcCode::invalid_parameter, "Block height out of range");
    };
    if (*height < 0) return out_of_range();
    const auto hash = snapshot->active({static_cast<std::uint32_t>(*height)});
    if (!hash)
        return hash.error().code == Errc::not_found ? RpcOutcome(out_of_range()) : rpc_fail(hash.error());
    call.result.string(hash->display_hex());
    return {};
}

}  // namespace

void add_block_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    methods.push_back({
        .category = "blockchain",
        .name = "getblock",
        .arguments = {{.names = "blockhash", .type = ArgumentType::hex, .text = "hash of the block"},
                      {.names = "verbosity|verbose",
                       .type = ArgumentType::number,
                       .required = false,
                       .fallback = "1",
                       .text =
                           "0 for the serialized block, 1 for an object, 2 for one with transactions, 3 with "
                           "the outputs that these spend",
                       .checked = false}},
        .description =
            "One block, by its hash: its bytes, or an object that tells more the higher the verbosity.",
        .result =
            "Result (for verbosity = 0):\n"
            "\"hex\"    (string) the serialized block, with witness, in hexadecimal\n\n"
            "Result (for verbosity = 1):\n"
            "{                                 (json object)\n"
            "  \"hash\" : \"hex\",                 (string) hash of the block\n"
            "  \"confirmations\" : n,            (numeric) blocks from it to the tip, itself included; -1 "
            "off the "
            "active chain\n"
            "  \"height\" : n,                   (numeric) distance from genesis\n"
            "  \"version\" : n,                  (numeric) version\n"
            "  \"versionHex\" : \"hex\",           (string) version as eight digits\n"
            "  \"merkleroot\" : \"hex\",           (string) root of the tree of transactions\n"
            "  \"time\" : xxx,                   (numeric) the header's time, seconds since 1970\n"
            "  \"mediantime\" : xxx,             (numeric) median time of the block and the ten before it\n"
            "  \"nonce\" : n,                    (numeric) nonce\n"
            "  \"bits\" : \"hex\",                 (string) target in compact form\n"
            "  \"difficulty\" : n,               (numeric) times as hard as the easiest target of the main "
            "chain\n"
            "  \"chainwork\" : \"hex\",            (string) hashes expected to have gone into the chain up "
            "to here\n"
            "  \"nTx\" : n,                      (numeric) transactions in the block\n"
            "  \"previousblockhash\" : \"hex\",    (string, optional) hash of its parent\n"
            "  \"nextblockhash\" : \"hex\",        (string, optional) hash of its child in the active chain\n"
            "  \"strippedsize\" : n,             (numeric) size without witness\n"
            "  \"size\" : n,                     (numeric) size in bytes\n"
            "  \"weight\" : n,                   (numeric) weight (BIP 141)\n"
            "  \"tx\" : [                        (json array)\n"
            "    \"hex\",                        (string) id of a transaction\n"
            "    ...\n"
            "  ]\n"
            "}\n\n"
            "Result (for verbosity = 2):\n"
            "{                                 (json object)\n"
            "  ...,                            the same, but\n"
            "  \"tx\" : [                        (json array)\n"
            "    {                             (json object)\n"
            "      ...,                        the members of decoderawtransaction\n"
            "      \"fee\" : n,                  (numeric, optional) its fee in BTC, where undo data is "
            "there\n"
            "      \"hex\" : \"hex\"               (string) the serialized transaction\n"
            "    },\n"
            "    ...\n"
            "  ]\n"
            "}\n\n"
            "Result (for verbosity = 3):\n"
            "{                                 (json object)\n"
            "  ...,                            the same, and\n"
            "  \"tx\" : [                        (json array)\n"
            "    {                             (json object)\n"
            "      ...,\n"
            "      \"vin\" : [                   (json array)\n"
            "        {                         (json object)\n"
            "          ...,\n"
            "          \"prevout\" : {           (json object, optional) the output spent, where undo data "
            "is there\n"
            "            \"generated\" : true|false, (boolean) made by a coinbase\n"
            "            \"height\" : n,         (numeric) height of its block\n"
            "            \"value\" : n,          (numeric) its amount in BTC\n"
            "            \"scriptPubKey\" : {...} (json object) its script\n"
            "          }\n"
            "        },\n"
            "        ...\n"
            "      ]\n"
            "    },\n"
            "    ...\n"
            "  ]\n"
            "}\n",
        .example = "\"00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee\" 0",
        .json_example = "\"00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee\", 0",
        .handler = [&context](const RpcCall& call) { return get_block(context, call); },
        .large_reply = true,
    });
    methods.push_back({
        .category = "blockchain",
        .name = "getblockhash",
        .arguments = {{.names = "height", .type = ArgumentType::number, .text = "distance from genesis"}},
        .description = "Hash of the active chain's block at a height.",
        .result = "Result:\n\"hex\"    (string) the block's hash\n",
        .example = "1000",
        .json_example = "1000",
        .handler = [&context](const RpcCall& call) { return get_block_hash(context, call); },
    });
    methods.push_back({
        .category = "blockchain",
        .name = "getblockheader",
        .arguments = {{.names = "blockhash", .type = ArgumentType::hex, .text = "hash of the block"},
                      {.names = "verbose",
                       .type = ArgumentType::boolean,
                       .required = false,
                       .fallback = "true",
                       .text = "true for an object, false for the 80 serialized bytes"}},
        .description = "The header of one block and its place in the chain.",
        .result =
            "Result (for verbose = true):\n"
            "{                                 (json object)\n"
            "  \"hash\" : \"hex\",                 (string) hash of the block\n"
            "  \"confirmations\" : n,            (numeric) blocks from it to the tip, itself included; -1 "
            "off the active chain\n"
            "  \"height\" : n,                   (numeric) distance from genesis\n"
            "  \"version\" : n,                  (numeric) version\n"
            "  \"versionHex\" : \"hex\",           (string) version as eight digits\n"
            "  \"merkleroot\" : \"hex\",           (string) root of the tree of transactions\n"
            "  \"time\" : xxx,                   (numeric) the header's time, seconds since 1970\n"
            "  \"mediantime\" : xxx,             (numeric) median time of the block and the ten before it\n"
            "  \"nonce\" : n,                    (numeric) nonce\n"
            "  \"bits\" : \"hex\",                 (string) target in compact form\n"
            "  \"difficulty\" : n,               (numeric) times as hard as the easiest target of the main "
            "chain\n"
            "  \"chainwork\" : \"hex\",            (string) hashes expected to have gone into the chain up "
            "to here\n"
            "  \"nTx\" : n,                      (numeric) transactions in the block; 0 when only its header "
            "is known\n"
            "  \"previousblockhash\" : \"hex\",    (string, optional) hash of its parent\n"
            "  \"nextblockhash\" : \"hex\"         (string, optional) hash of its child in the active chain\n"
            "}\n\n"
            "Result (for verbose = false):\n\"hex\"    (string) the serialized header in hexadecimal\n",
        .example = "\"00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee\"",
        .json_example = "\"00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee\"",
        .handler = [&context](const RpcCall& call) { return get_block_header(context, call); },
    });
}

}  // namespace blockpub
