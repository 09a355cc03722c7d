// SPDX-License-Identifier: MIT
#include "base/log.hpp"
#include "base/text_appender.hpp"
#include "primitives/descriptor.hpp"
#include "primitives/output_type.hpp"
#include "query/rpc_context.hpp"
#include "query/scan_slot.hpp"
#include "query/script_json.hpp"
#include "query/script_scan.hpp"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace blockpub {

namespace {

struct ScriptHash {
    std::size_t operator()(const Script& script) const {
        return std::hash<std::string_view>{}(
            {reinterpret_cast<const char*>(script.data()), script.size()});  // NOLINT(*-reinterpret-cast)
    }
};

/// The scripts that are looked for, each with its descriptor.
using Wanted = std::unordered_map<Script, std::string, ScriptHash>;

std::string descriptor_of(const DescribedScript& described, const ChainParams& params) {
    if (!described.inferred.empty())
        return described.inferred + '#' + *descriptor_checksum(described.inferred);
    std::string text;
    {
        TextAppender out(text);  // the text is whole when it has gone
        append_descriptor(out, described.script, output_type(described.script), params);
    }
    return text;
}

/// No descriptor has a range here, since keys are plain ones; a range that Core refuses is refused all the
/// same. Source: Bitcoin Core v28.1 src/rpc/util.cpp, ParseDescriptorRange.
RpcOutcome check_range(JsonValue range) {
    constexpr std::int64_t kLongest = 1'000'000;
    std::int64_t low = 0;
    const JsonValue end = range.kind() == JsonKind::array ? range.at(1) : range;
    if (range.kind() == JsonKind::array) {
        const bool pair = range.size() == 2 && range.at(0).kind() == JsonKind::number;
        if (pair && end.kind() == JsonKind::number) {
            const auto begin = integer_argument(range.at(0));
            if (!begin) return std::unexpected(begin.error());
            low = *begin;
        }
        if (!pair)
            return rpc_fail(RpcCode::invalid_parameter, "Range must be specified as end or as [begin,end]");
    }
    if (end.kind() != JsonKind::number)
        return rpc_fail(RpcCode::invalid_parameter, "Range must be specified as end or as [begin,end]");
    const auto high = integer_argument(end);
    if (!high) return std::unexpected(high.error());
    if (range.kind() == JsonKind::array && low > *high)
        return rpc_fail(RpcCode::invalid_parameter,
                        "Range specified as [begin,end] must not have begin after end");
    if (low < 0) return rpc_fail(RpcCode::invalid_parameter, "Range should be greater or equal than 0");
    if (*high >> 31 != 0) return rpc_fail(RpcCode::invalid_parameter, "End of range is too high");
    if (*high >= low + kLongest) return rpc_fail(RpcCode::invalid_parameter, "Range is too large");
    return {};
}

/// Adds the scripts of one scan object: a descriptor, or an object that holds one.
RpcOutcome add_wanted(JsonValue object, const ChainParams& params, Wanted& wanted) {
    JsonValue descriptor = object;
    if (object.kind() == JsonKind::object) {
        descriptor = object.find("desc").value_or(JsonValue());
        if (descriptor.is_null())
            return rpc_fail(RpcCode::invalid_parameter, "Descriptor needs to be provided in scan object");
        const JsonValue range = object.find("range").value_or(JsonValue());
        if (const auto text = string_argument(descriptor); !text) return std::unexpected(text.error());
        if (!range.is_null()) {
            if (auto checked = check_range(range); !checked) return checked;
        }
    } else if (!object.is_string()) {
        return rpc_fail(RpcCode::invalid_parameter, "Scan object needs to be either a string or an object");
    }
    auto scripts = expand_descriptor(descriptor.text(), params);
    if (!scripts) return rpc_fail(RpcCode::invalid_address_or_key, scripts.error().context);
    for (DescribedScript& described : *scripts) {
        std::string text = descriptor_of(described, params);
        wanted.try_emplace(std::move(described.script), std::move(text));
    }
    return {};
}

void write_unspent(JsonWriter& out, const Outpoint& outpoint, const ScriptScanResult::Found& found,
                   const std::string& descriptor, const Tip& tip) {
    const Coin& coin = found.coin;
    out.begin_object();
    out.member("txid", outpoint.txid.display_hex());
    out.member("vout", outpoint.position);
    out.key("scriptPubKey");
    out.hex(coin.script);
    out.member("desc", std::string_view(descriptor));
    out.key("amount");
    out.amount(coin.amount);
    out.member("coinbase", coin.coinbase);
    out.member("height", coin.height.value);
    out.member("blockhash", found.block.display_hex());
    out.member("confirmations", tip.height.value - coin.height.value + 1);
    out.end_object();
}

void write_scan(JsonWriter& out, const ScriptScanResult& scan, const Wanted& wanted) {
    Amount total = 0;
    out.begin_object();
    out.member("success", scan.complete);
    out.member("txouts", scan.coins);
    out.member("height", scan.tip.height.value);
    out.member("bestblock", scan.tip.hash.display_hex());
    out.key("unspents");
    out.begin_array();
    for (const auto& [outpoint, found] : scan.found) {
        total += found.coin.amount;
        const Script script(found.coin.script.begin(), found.coin.script.end());
        write_unspent(out, outpoint, found, wanted.at(script), scan.tip);
    }
    out.end_array();
    out.key("total_amount");
    out.amount(total);
    out.end_object();
}

RpcOutcome scan_coins_for(const RpcContext& context, const Wanted& wanted, ScanSlot& slot, JsonWriter& out) {
    const auto began = std::chrono::steady_clock::now();
    ScriptScan scan({.coins = *context.coins, .store = *context.store, .blocks = *context.blocks},
                    {.stopping = [&context] { return context.stopping && context.stopping(); },
                     .aborted = [&slot] { return slot.aborted(); },
                     .progress = [&slot](int percent) { slot.set_percent(percent); }},
                    [&wanted](const Script& script) { return wanted.contains(script); });
    const auto result = scan.run();
    if (!result && result.error().code == Errc::stopped)
        return rpc_fail(RpcCode::client_not_connected, "Shutting down");
    if (!result) return rpc_fail(result.error());
    const auto took = std::chrono::steady_clock::now() - began;
    Log(context.logger, LogCategory::rpc)
        .info("scantxoutset: {} coins in {} ms, {} found{}", result->coins,
              std::chrono::duration_cast<std::chrono::milliseconds>(took).count(), result->found.size(),
              result->complete ? "" : "; aborted");
    write_scan(out, *result, wanted);
    return {};
}

RpcOutcome start_scan(const RpcContext& context, const RpcCall& call, ScanSlot& slot) {
    if (!slot.try_take()) {
        return rpc_fail(RpcCode::invalid_parameter,
                        "Scan already in progress, use action \"abort\" or \"status\"");
    }
    const std::unique_ptr<ScanSlot, void (*)(ScanSlot*)> held(&slot, [](ScanSlot* s) { s->give_back(); });
    if (call.arguments.size() < 2)
        return rpc_fail(RpcCode::misc_error, "scanobjects argument is required for the start action");
    const JsonValue objects = call.arguments[1];
    if (objects.kind() != JsonKind::array) {
        return rpc_fail(RpcCode::type_error,
                        fmt::format("JSON value of type {} is not of expected type array",
                                    json_kind_name(objects.kind())));
    }
    Wanted wanted;
    for (JsonValue::Cursor c(objects); !c.done(); c.next()) {
        if (auto added = add_wanted(c.value(), *context.params, wanted); !added) return added;
    }
    return scan_coins_for(context, wanted, slot, call.result);
}

RpcOutcome scan_tx_out_set(const RpcContext& context, const RpcCall& call, ScanSlot& slot) {
    const std::string_view action = call.arguments[0].text();
    JsonWriter& out = call.result;
    if (action == "start") return start_scan(context, call, slot);
    if (action == "abort") {
        out.boolean(slot.abort());
        return {};
    }
    if (action != "status")
        return rpc_fail(RpcCode::invalid_parameter, fmt::format("Invalid action '{}'", action));
    const auto percent = slot.percent();
    if (!percent) {
        out.null();
        return {};
    }
    out.begin_object();
    out.member("progress", *percent);
    out.end_object();
    return {};
}

constexpr std::string_view kScanDescription =
    "Looks through all coins of the tip for those that pay to the scripts of some descriptors:\n"
    "    addr(<address>)                       the script of an address\n"
    "    raw(<hex script>)                     the script itself\n"
    "    combo(<pubkey>)                       P2PK, P2PKH, P2WPKH and P2SH-P2WPKH of a key\n"
    "    pk(), pkh(), wpkh(), sh(), wsh(), multi(), sortedmulti(), rawtr()\n"
    "Keys are plain ones in hexadecimal. It may take minutes; blocks and other calls go on meanwhile, and "
    "the "
    "result is that of\none tip. One scan at a time.";

constexpr std::string_view kResult =
    "Result (of start, when the scan has ended):\n"
    "{                                (json object)\n"
    "  \"success\" : bool,              (boolean) false when it was aborted: what follows is not complete "
    "then\n"
    "  \"txouts\" : n,                  (numeric) coins that were looked at\n"
    "  \"height\" : n,                  (numeric) height of the tip whose coins they are\n"
    "  \"bestblock\" : \"hex\",           (string) its hash\n"
    "  \"unspents\" : [                 (json array) what pays to the scripts\n"
    "    {                            (json object)\n"
    "      \"txid\" : \"hex\",            (string) the transaction that made the coin\n"
    "      \"vout\" : n,                (numeric) which of its outputs it is\n"
    "      \"scriptPubKey\" : \"hex\",    (string) its script\n"
    "      \"desc\" : \"str\",            (string) the descriptor of this script\n"
    "      \"amount\" : n,              (numeric) its amount in BTC\n"
    "      \"coinbase\" : bool,         (boolean) whether a coinbase made it\n"
    "      \"height\" : n,              (numeric) height of the block that made it\n"
    "      \"blockhash\" : \"hex\",       (string) hash of that block\n"
    "      \"confirmations\" : n        (numeric) blocks from that one to the tip\n"
    "    },\n"
    "    ...\n"
    "  ],\n"
    "  \"total_amount\" : n             (numeric) their amounts together, in BTC\n"
    "}\n\n"
    "Result (of abort):\n"
    "bool    (boolean) whether there is a scan, which is going to end\n\n"
    "Result (of status, during a scan):\n"
    "{                                (json object)\n"
    "  \"progress\" : n                 (numeric) roughly how far it is, in percent\n"
    "}\n\n"
    "Result (of status, without a scan):\n"
    "null    (json null)\n";

}  // namespace

void add_scanning_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    const auto slot = std::make_shared<ScanSlot>();
    methods.push_back({
        .category = "blockchain",
        .name = "scantxoutset",
        .lane = Lane::wait,
        .arguments = {{.names = "action",
                       .type = ArgumentType::string,
                       .text = "start (answers when the scan has ended), abort or status"},
                      {.names = "scanobjects",
                       .type = ArgumentType::array,
                       .required = false,
                       .text = "of start: descriptors, each as a string, or as an object",
                       .element = "scanobjects",
                       .details =
                           "     [\n"
                           "       \"descriptor\",           (string)\n"
                           "       {                       (json object)\n"
                           "         \"desc\" : \"str\",       (string, required) a descriptor\n"
                           "         \"range\" : n or [n,n]  (numeric or array, optional) without effect: no "
                           "descriptor here has a range\n"
                           "       },\n"
                           "       ...\n"
                           "     ]\n"}},
        .description = kScanDescription,
        .result = kResult,
        .example = "start '[\"raw(76a91411b366edfc0a8b66feebae5c2e25a7b6a5d1cf3188ac)#fm24fxxy\"]'",
        .json_example = "\"start\", [\"raw(76a91411b366edfc0a8b66feebae5c2e25a7b6a5d1cf3188ac)#fm24fxxy\"]",
        .handler = [&context, slot](const RpcCall& call) { return scan_tx_out_set(context, call, *slot); },
        .large_reply = true,
        .lane_of =
            [](const RpcArguments& arguments) {
                const bool starts = arguments[0].is_string() && arguments[0].text() == "start";
                return starts ? Lane::wait : Lane::here;
            },
    });
}

}  // namespace blockpub
