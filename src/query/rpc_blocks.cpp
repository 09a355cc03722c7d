// SPDX-License-Identifier: MIT
#include "base/hex.hpp"
#include "base/log.hpp"
#include "primitives/header.hpp"
#include "primitives/work.hpp"
#include "query/chain_view.hpp"
#include "query/rpc_context.hpp"

#include <fmt/format.h>

namespace blockpub {

namespace {

/// Error of a look-up by hash: Core's words where the hash is unknown.
std::unexpected<RpcError> no_block(const Error& error) {
    if (error.code == Errc::not_found) return rpc_fail(RpcCode::invalid_address_or_key, "Block not found");
    return rpc_fail(error);
}

/// A block's bytes, with Core's words where there are none.
std::expected<SharedBytes, RpcError> read_block(const RpcContext& context, const BlockHash& hash) {
    auto raw = context.blocks->read_block(hash);
    if (raw) return std::move(*raw);
    if (raw.error().code == Errc::not_found || raw.error().code == Errc::unavailable)
        return no_block(raw.error());
    // What the client cannot mend the operator has to hear of.
    Log(context.logger, LogCategory::rpc).error("block {}: {}", hash.display_hex(), raw.error().context);
    return rpc_fail(RpcCode::misc_error, "Block not found on disk");
}

std::expected<int, RpcError> verbosity_argument(JsonValue value) {
    if (value.is_null()) return 1;
    if (value.kind() == JsonKind::boolean) return value.is_true() ? 1 : 0;
    return int_argument(value);
}

RpcOutcome get_block(const RpcContext& context, const RpcCall& call) {
    const auto hash = hash_argument<BlockHash>(call.arguments[0], "blockhash");
    if (!hash) return std::unexpected(hash.error());
    const auto verbosity = verbosity_argument(call.arguments[1]);
    if (!verbosity) return std::unexpected(verbosity.error());
    const auto raw = read_block(context, *hash);
    if (!raw) return std::unexpected(raw.error());
    if (*verbosity > 0) {
        return rpc_fail(RpcCode::invalid_parameter,
                        "getblock answers with the serialized block only, for now: ask for verbosity 0");
    }
    call.result.hex(raw->bytes());
    return {};
}

void write_header(JsonWriter& out, const BlockHash& hash, const HeaderRecord& record, const ChainPlace& place,
                  std::int64_t median) {
    const BlockHeader header = BlockHeader::decode(record.header);
    out.begin_object();
    out.member("hash", hash.display_hex());
    out.member("confirmations", place.confirmations);
    out.member("height", record.height.value);
    out.member("version", header.version);
    out.member("versionHex", fmt::format("{:08x}", static_cast<std::uint32_t>(header.version)));
    out.member("merkleroot", header.merkle_root.display_hex());
    out.member("time", header.time);
    out.member("mediantime", median);
    out.member("nonce", header.nonce);
    out.member("bits", fmt::format("{:08x}", header.bits));
    out.member("difficulty", difficulty(header.bits));
    out.key("chainwork");
    out.hex(record.chainwork);
    out.member("nTx", record.tx_count);
    if (record.height.value > 0) out.member("previousblockhash", header.previous.display_hex());
    if (place.next) out.member("nextblockhash", place.next->display_hex());
    out.end_object();
}

RpcOutcome get_block_header(const RpcContext& context, const RpcCall& call) {
    const auto hash = hash_argument<BlockHash>(call.arguments[0], "hash");
    if (!hash) return std::unexpected(hash.error());
    const bool verbose = !call.arguments.has(1) || call.arguments[1].is_true();
    auto snapshot = context.store->snapshot();
    if (!snapshot) return rpc_fail(snapshot.error());
    const auto record = snapshot->header(*hash);
    if (!record) return no_block(record.error());
    if (!verbose) {
        call.result.hex(record->header);
        return {};
    }
    const auto tip = snapshot->tip();
    if (!tip) return rpc_fail(tip.error());
    const auto place = chain_place(*snapshot, *hash, record->height, *tip);
    if (!place) return rpc_fail(place.error());
    const auto median = median_time_past(*snapshot, *record);
    if (!median) return rpc_fail(median.error());
    write_header(call.result, *hash, *record, *place, *median);
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
                       .text = "0 for the serialized block; 1 to 3 are not answered yet",
                       .checked = false}},
        .description = "One block, by its hash.",
        .result = "Result (for verbosity = 0):\n\"hex\"    (string) the serialized block, with witness, in "
                  "hexadecimal\n",
        .example = "\"00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee\" 0",
        .json_example = "\"00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee\", 0",
        .handler = [&context](const RpcCall& call) { return get_block(context, call); },
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
