// SPDX-License-Identifier: MIT
#include "chain/mempool_keeper.hpp"
#include "chain/mempool_service.hpp"
#include "query/mempool_json.hpp"
#include "query/rpc_context.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

namespace blockpub {

namespace {

constexpr std::string_view kEntryResult =
    "  \"vsize\" : n,                    (numeric) virtual size; signature operations may count for more "
    "than bytes\n"
    "  \"weight\" : n,                   (numeric) weight (BIP 141)\n"
    "  \"time\" : xxx,                   (numeric) when it came, seconds since 1970\n"
    "  \"height\" : n,                   (numeric) height of the tip when it came\n"
    "  \"descendantcount\" : n,          (numeric) how many depend on it, itself included\n"
    "  \"descendantsize\" : n,           (numeric) their virtual size\n"
    "  \"ancestorcount\" : n,            (numeric) how many it depends on, itself included\n"
    "  \"ancestorsize\" : n,             (numeric) their virtual size\n"
    "  \"wtxid\" : \"hex\",                (string) hash of the transaction with its witness\n"
    "  \"fees\" : {                      (json object) in BTC\n"
    "    \"base\" : n,                   (numeric) its fee\n"
    "    \"modified\" : n,               (numeric) the fee that counts, with what prioritising adds\n"
    "    \"ancestor\" : n,               (numeric) of all that it depends on, itself included\n"
    "    \"descendant\" : n              (numeric) of all that depend on it, itself included\n"
    "  },\n"
    "  \"depends\" : [\"hex\", ...],       (json array) transactions in the mempool whose outputs it spends\n"
    "  \"spentby\" : [\"hex\", ...],       (json array) transactions in the mempool that spend its outputs\n"
    "  \"bip125-replaceable\" : bool,    (boolean) whether it, or one that it depends on, says that it may "
    "be "
    "replaced\n"
    "  \"unbroadcast\" : bool            (boolean) whether no peer has taken it yet\n";

constexpr std::string_view kExampleTxid =
    "\"f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16\"";

std::string listing_result(std::string_view first) {
    return fmt::format(
        "{}\n[\n  \"hex\",    (string) a txid\n  ...\n]\n\n"
        "Result (with verbose):\n{{\n  \"txid\" : {{...}},    (json object) as getmempoolentry shows it\n"
        "  ...\n}}\n",
        first);
}

RpcOutcome get_mempool_info(const RpcContext& context, const RpcCall& call) {
    write_summary(call.result, context.mempool->board().summary());
    return {};
}

void write_details(JsonWriter& out, const std::vector<MempoolRowDetails>& rows, bool verbose) {
    if (verbose) {
        out.begin_object();
        for (const MempoolRowDetails& details : rows) {
            out.key(details.row.transaction->txid().display_hex());
            write_entry(out, details);
        }
        out.end_object();
        return;
    }
    out.begin_array();
    for (const MempoolRowDetails& details : rows) out.string(details.row.transaction->txid().display_hex());
    out.end_array();
}

RpcOutcome get_raw_mempool(const RpcContext& context, const RpcCall& call) {
    const MempoolBoard& board = context.mempool->board();
    const bool verbose = call.arguments.has(0) && call.arguments[0].is_true();
    const bool with_sequence = call.arguments.has(1) && call.arguments[1].is_true();
    if (verbose && with_sequence) {
        return rpc_fail(RpcCode::invalid_parameter,
                        "Verbose results cannot contain mempool sequence values.");
    }
    if (verbose) {
        write_details(call.result, board.all_details(), true);
        return {};
    }
    const MempoolBoard::All all = board.all();
    if (with_sequence) {
        call.result.begin_object();
        call.result.key("txids");
    }
    call.result.begin_array();
    for (const MempoolRow& row : all.rows) call.result.string(row.transaction->txid().display_hex());
    call.result.end_array();
    if (with_sequence) {
        call.result.member("mempool_sequence", all.next_sequence.value);
        call.result.end_object();
    }
    return {};
}

std::unexpected<RpcError> not_in_mempool() {
    return rpc_fail(RpcCode::invalid_address_or_key, "Transaction not in mempool");
}

RpcOutcome get_mempool_entry(const RpcContext& context, const RpcCall& call) {
    const auto txid = hash_argument<Txid>(call.arguments[0], "parameter 1");
    if (!txid) return std::unexpected(txid.error());
    const auto details = context.mempool->board().details(*txid);
    if (!details) return not_in_mempool();
    write_entry(call.result, *details);
    return {};
}

using Family = std::optional<std::vector<MempoolRowDetails>> (MempoolBoard::*)(const Txid&) const;

RpcOutcome get_family(const RpcContext& context, const RpcCall& call, Family which) {
    const auto txid = hash_argument<Txid>(call.arguments[0], "parameter 1");
    if (!txid) return std::unexpected(txid.error());
    const auto rows = (context.mempool->board().*which)(*txid);
    if (!rows) return not_in_mempool();
    write_details(call.result, *rows, call.arguments.has(1) && call.arguments[1].is_true());
    return {};
}

/// One element of gettxspendingprevout's list.
std::expected<Outpoint, RpcError> outpoint_element(JsonValue element) {
    if (element.kind() != JsonKind::object) {
        return rpc_fail(RpcCode::type_error,
                        fmt::format("JSON value of type {} is not of expected type object",
                                    json_kind_name(element.kind())));
    }
    const std::pair<std::string_view, JsonKind> members[] = {{"txid", JsonKind::string},
                                                             {"vout", JsonKind::number}};
    for (const auto& [name, kind] : members) {
        const auto value = element.find(name);
        if (!value) return rpc_fail(RpcCode::type_error, fmt::format("Missing {}", name));
        if (value->kind() == kind) continue;
        return rpc_fail(RpcCode::type_error,
                        fmt::format("JSON value of type {} for field {} is not of expected type {}",
                                    json_kind_name(value->kind()), name, json_kind_name(kind)));
    }
    for (JsonValue::Cursor c(element); !c.done(); c.next()) {
        if (c.name() != "txid" && c.name() != "vout")
            return rpc_fail(RpcCode::type_error, fmt::format("Unexpected key {}", c.name()));
    }
    const auto txid = hash_argument<Txid>(*element.find("txid"), "txid");
    if (!txid) return std::unexpected(txid.error());
    const auto position = int_argument(*element.find("vout"));
    if (!position) return std::unexpected(position.error());
    if (*position < 0)
        return rpc_fail(RpcCode::invalid_parameter, "Invalid parameter, vout cannot be negative");
    return Outpoint{.txid = *txid, .position = static_cast<std::uint32_t>(*position)};
}

RpcOutcome get_tx_spending_prevout(const RpcContext& context, const RpcCall& call) {
    if (call.arguments[0].size() == 0)
        return rpc_fail(RpcCode::invalid_parameter, "Invalid parameter, outputs are missing");
    std::vector<Outpoint> outpoints;
    for (JsonValue::Cursor c(call.arguments[0]); !c.done(); c.next()) {
        const auto outpoint = outpoint_element(c.value());
        if (!outpoint) return std::unexpected(outpoint.error());
        outpoints.push_back(*outpoint);
    }
    const auto spenders = context.mempool->board().spenders(outpoints);
    call.result.begin_array();
    for (std::size_t i = 0; i < outpoints.size(); ++i) {
        call.result.begin_object();
        call.result.member("txid", outpoints[i].txid.display_hex());
        call.result.member("vout", outpoints[i].position);
        if (spenders[i]) call.result.member("spendingtxid", spenders[i]->display_hex());
        call.result.end_object();
    }
    call.result.end_array();
    return {};
}

RpcOutcome save_mempool(const RpcContext& context, const RpcCall& call) {
    if (!context.mempool->board().summary().loaded)
        return rpc_fail(RpcCode::misc_error, "The mempool was not loaded yet");
    if (!context.mempool_keeper->save())
        return rpc_fail(RpcCode::misc_error, "Unable to dump mempool to disk");
    call.result.begin_object();
    call.result.member("filename", std::string_view(context.mempool_keeper->file().native()));
    call.result.end_object();
    return {};
}

RpcArgument txid_argument() {
    return {.names = "txid",
            .type = ArgumentType::hex,
            .text = "the transaction's id; it must be in the mempool"};
}

RpcArgument verbose_argument(std::string_view text) {
    return {.names = "verbose",
            .type = ArgumentType::boolean,
            .required = false,
            .fallback = "false",
            .text = text};
}

RpcMethod family_method(const RpcContext& context, std::string_view name, std::string_view description,
                        Family which) {
    static const std::string kResult = listing_result("Result (without verbose):");
    return {
        .category = "blockchain",
        .name = name,
        .arguments = {txid_argument(), verbose_argument("an object for each instead of its id")},
        .description = description,
        .result = kResult,
        .example = kExampleTxid,
        .json_example = kExampleTxid,
        .handler = [&context, which](const RpcCall& call) { return get_family(context, call, which); },
    };
}

void add_listing_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    static const std::string kListing =
        listing_result("Result (without verbose):") +
        "\nResult (with mempool_sequence):\n{\n  \"txids\" : [\"hex\", ...],    (json array) as without it\n"
        "  \"mempool_sequence\" : n      (numeric) number of the next addition or removal; the sequence "
        "topic "
        "counts them\n}\n";
    methods.push_back({
        .category = "blockchain",
        .name = "getrawmempool",
        .arguments = {verbose_argument("an object for each transaction instead of its id"),
                      {.names = "mempool_sequence",
                       .type = ArgumentType::boolean,
                       .required = false,
                       .fallback = "false",
                       .text = "with the ids, the sequence number that they agree with; not with verbose"}},
        .description = "All transactions in the mempool.",
        .result = kListing,
        .example = "true",
        .json_example = "true",
        .handler = [&context](const RpcCall& call) { return get_raw_mempool(context, call); },
        .large_reply = true,
    });
    methods.push_back(family_method(context, "getmempoolancestors",
                                    "All transactions in the mempool that one in it depends on.",
                                    &MempoolBoard::ancestors));
    methods.push_back(family_method(context, "getmempooldescendants",
                                    "All transactions in the mempool that depend on one in it.",
                                    &MempoolBoard::descendants));
}

}  // namespace

void add_mempool_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    if (context.mempool == nullptr) return;
    static const std::string kEntry =
        fmt::format("Result:\n{{                                   (json object)\n{}}}\n", kEntryResult);
    add_listing_methods(methods, context);
    methods.push_back({
        .category = "blockchain",
        .name = "getmempoolentry",
        .arguments = {txid_argument()},
        .description = "What the mempool knows of one of its transactions.",
        .result = kEntry,
        .example = kExampleTxid,
        .json_example = kExampleTxid,
        .handler = [&context](const RpcCall& call) { return get_mempool_entry(context, call); },
    });
    methods.push_back({
        .category = "blockchain",
        .name = "getmempoolinfo",
        .description = "The mempool as a whole.",
        .result = "Result:\n"
                  "{                               (json object)\n"
                  "  \"loaded\" : bool,              (boolean) whether mempool.dat has been read, or there "
                  "was none\n"
                  "  \"size\" : n,                   (numeric) number of transactions\n"
                  "  \"bytes\" : n,                  (numeric) sum of their virtual sizes\n"
                  "  \"usage\" : n,                  (numeric) memory that they take\n"
                  "  \"total_fee\" : n,              (numeric) sum of their fees in BTC\n"
                  "  \"maxmempool\" : n,             (numeric) most memory that they may take\n"
                  "  \"mempoolminfee\" : n,          (numeric) least fee rate that is taken, BTC/kvB\n"
                  "  \"minrelaytxfee\" : n,          (numeric) the same while there is room\n"
                  "  \"incrementalrelayfee\" : n,    (numeric) what a replacement must pay more, BTC/kvB\n"
                  "  \"unbroadcastcount\" : n,       (numeric) transactions that no peer has taken yet\n"
                  "  \"fullrbf\" : bool              (boolean) whether transactions are replaced that do not "
                  "say so\n"
                  "}\n",
        .handler = [&context](const RpcCall& call) { return get_mempool_info(context, call); },
    });
    if (context.mempool_keeper != nullptr) {
        methods.push_back({
            .category = "blockchain",
            .name = "savemempool",
            .lane = Lane::chain,
            .description = "Writes the mempool into mempool.dat, which a start with -persistmempool reads.",
            .result = "Result:\n"
                      "{                         (json object)\n"
                      "  \"filename\" : \"str\"      (string) where it is\n"
                      "}\n",
            .handler = [&context](const RpcCall& call) { return save_mempool(context, call); },
        });
    }
    methods.push_back({
        .category = "blockchain",
        .name = "gettxspendingprevout",
        .arguments = {{.names = "outputs",
                       .type = ArgumentType::array,
                       .text = "the outputs to look for",
                       .element = "{\"txid\":\"hex\",\"vout\":n}",
                       .details =
                           "     [\n"
                           "       {                   (json object)\n"
                           "         \"txid\": \"hex\",    (string, required) the transaction that made it\n"
                           "         \"vout\": n,        (numeric, required) its position\n"
                           "       },\n"
                           "       ...\n"
                           "     ]\n"}},
        .description = "Looks in the mempool for the transactions that spend outputs.",
        .result = "Result:\n"
                  "[                                (json array)\n"
                  "  {                              (json object)\n"
                  "    \"txid\" : \"hex\",              (string) as asked\n"
                  "    \"vout\" : n,                  (numeric) as asked\n"
                  "    \"spendingtxid\" : \"hex\"       (string, optional) the transaction that spends it; "
                  "left out "
                  "when none does\n"
                  "  },\n"
                  "  ...\n"
                  "]\n",
        .example =
            "\"[{\\\"txid\\\":\\\"a08e6907dbbd3d809776dbfc5d82e371b764ed838b5655e72f463568df1aadf0\\\","
            "\\\"vout\\\":3}]\"",
        .json_example = "[{\"txid\":\"a08e6907dbbd3d809776dbfc5d82e371b764ed838b5655e72f463568df1aadf0\","
                        "\"vout\":3}]",
        .handler = [&context](const RpcCall& call) { return get_tx_spending_prevout(context, call); },
    });
}

}  // namespace blockpub
