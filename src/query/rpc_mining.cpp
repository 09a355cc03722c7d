// SPDX-License-Identifier: MIT
#include "base/ascii.hpp"
#include "base/hex.hpp"
#include "chain/mempool_service.hpp"
#include "primitives/header.hpp"
#include "primitives/work.hpp"
#include "query/rpc_lookup.hpp"
#include "query/rpc_warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace blockpub {

namespace {

constexpr int kDefaultWindow = 120;
constexpr int kMaxFeeTarget = 1008;

/// Hashes a second that the blocks of a window stand for. Requires: window > 0, height > 0.
Result<double> hash_rate(const Snapshot& snapshot, Height height, std::uint32_t window) {
    const auto record_at = [&](std::uint32_t h) -> Result<HeaderRecord> {
        auto hash = snapshot.active({h});
        if (!hash) return forward_error(hash);
        return snapshot.header(*hash);
    };
    auto last = record_at(height.value);
    if (!last) return forward_error(last);
    std::uint32_t least = BlockHeader::decode(last->header).time;
    std::uint32_t most = least;
    Result<HeaderRecord> first = *last;
    for (std::uint32_t back = 1; back <= window; ++back) {
        first = record_at(height.value - back);
        if (!first) return forward_error(first);
        const std::uint32_t time = BlockHeader::decode(first->header).time;
        least = std::min(least, time);
        most = std::max(most, time);
    }
    if (least == most) return 0.0;
    const Uint256 work =
        Uint256::from_big_endian(last->chainwork) - Uint256::from_big_endian(first->chainwork);
    return work.to_double() / static_cast<double>(most - least);
}

std::expected<double, RpcError> network_hash_rate(const RpcContext& context, int window, int height) {
    const auto snapshot = context.store->snapshot();
    if (!snapshot) return rpc_fail(snapshot.error());
    const auto tip = snapshot->tip();
    if (!tip) return rpc_fail(tip.error());
    if (window < -1 || window == 0) {
        return rpc_fail(RpcCode::invalid_parameter, "Invalid nblocks. Must be a positive number or -1.");
    }
    if (height < -1 || height > static_cast<std::int64_t>(tip->height.value))
        return rpc_fail(RpcCode::invalid_parameter, "Block does not exist at specified height");
    const std::uint32_t at = height < 0 ? tip->height.value : static_cast<std::uint32_t>(height);
    if (at == 0) return 0.0;
    const auto since_retarget =
        static_cast<std::uint32_t>(at % static_cast<std::uint32_t>(context.params->retarget_interval()) + 1);
    const std::uint32_t wanted = window == -1 ? since_retarget : static_cast<std::uint32_t>(window);
    const auto rate = hash_rate(*snapshot, {at}, std::min(wanted, at));
    if (!rate) return rpc_fail(rate.error());
    return *rate;
}

/// Whole rates are integers in bitcoind when there is nothing to divide.
void write_rate(JsonWriter& out, double rate) {
    if (rate == 0) {
        out.integer(0);
    } else {
        out.real(rate);
    }
}

RpcOutcome get_network_hash_ps(const RpcContext& context, const RpcCall& call) {
    const auto window = call.arguments.has(0) ? int_argument(call.arguments[0]) : kDefaultWindow;
    if (!window) return std::unexpected(window.error());
    const auto height = call.arguments.has(1) ? int_argument(call.arguments[1]) : -1;
    if (!height) return std::unexpected(height.error());
    const auto rate = network_hash_rate(context, *window, *height);
    if (!rate) return std::unexpected(rate.error());
    write_rate(call.result, *rate);
    return {};
}

RpcOutcome get_mining_info(const RpcContext& context, const RpcCall& call) {
    const auto snapshot = context.store->snapshot();
    if (!snapshot) return rpc_fail(snapshot.error());
    const auto tip = snapshot->tip();
    if (!tip) return rpc_fail(tip.error());
    const auto record = snapshot->header(tip->hash);
    if (!record) return rpc_fail(record.error());
    const std::uint32_t window = std::min<std::uint32_t>(kDefaultWindow, tip->height.value);
    const auto rate = window == 0 ? Result<double>(0.0) : hash_rate(*snapshot, tip->height, window);
    if (!rate) return rpc_fail(rate.error());
    JsonWriter& out = call.result;
    out.begin_object();
    out.member("blocks", tip->height.value);
    out.member("difficulty", difficulty(BlockHeader::decode(record->header).bits));
    out.key("networkhashps");
    write_rate(out, *rate);
    out.member("pooledtx",
               context.mempool != nullptr ? context.mempool->board().summary().count : std::uint64_t{0});
    out.member("chain", std::string_view(context.params->name));
    if (!context.params->signet_challenge.empty()) {
        out.key("signet_challenge");
        out.hex(context.params->signet_challenge);
    }
    write_warnings(out, context);
    out.end_object();
    return {};
}

/// What getblocktemplate's proposal mode says of a block that is known already.
std::string_view known_block_answer(const HeaderRecord& record) {
    if ((record.status & (HeaderRecord::kFailed | HeaderRecord::kFailedChild)) != 0)
        return "duplicate-invalid";
    return (record.status & HeaderRecord::kConnected) != 0 ? "duplicate" : "duplicate-inconclusive";
}

RpcOutcome propose_block(const RpcContext& context, const RpcCall& call, JsonValue request) {
    const JsonValue data = request.find("data").value_or(JsonValue());
    if (!data.is_string()) return rpc_fail(RpcCode::type_error, "Missing data String key for proposal");
    const auto bytes = decode_hex(data.text());
    const auto block =
        bytes ? ParsedBlock::parse(SharedBytes::copy_of(*bytes)) : fail(Errc::corrupt, "no hex");
    if (!block) return rpc_fail(RpcCode::deserialization_error, "Block decode failed");
    {
        const auto snapshot = context.store->snapshot();
        if (!snapshot) return rpc_fail(snapshot.error());
        if (const auto known = snapshot->header(block->hash())) {
            call.result.string(known_block_answer(*known));
            return {};
        }
        const auto tip = snapshot->tip();
        if (!tip) return rpc_fail(tip.error());
        if (block->header().previous != tip->hash) {
            call.result.string("inconclusive-not-best-prevblk");
            return {};
        }
    }
    const auto reason = context.chain->test_block(block->raw());
    if (!reason) return rpc_fail(RpcCode::database_error, reason.error().context);
    if (reason->empty()) {
        call.result.null();
    } else {
        call.result.string(*reason);
    }
    return {};
}

RpcOutcome get_block_template(const RpcContext& context, const RpcCall& call) {
    if (call.arguments.has(0)) {
        const JsonValue request = call.arguments[0];
        const JsonValue mode = request.find("mode").value_or(JsonValue());
        if (!mode.is_null() && !mode.is_string()) return rpc_fail(RpcCode::invalid_parameter, "Invalid mode");
        if (mode.is_string() && mode.text() == "proposal") return propose_block(context, call, request);
        if (mode.is_string() && mode.text() != "template")
            return rpc_fail(RpcCode::invalid_parameter, "Invalid mode");
    }
    return rpc_fail(RpcCode::client_not_connected, "Bitcoin Core is not connected!");
}

RpcOutcome estimate_smart_fee(const RpcCall& call) {
    const auto target = int_argument(call.arguments[0]);
    if (!target) return std::unexpected(target.error());
    if (*target < 1 || *target > kMaxFeeTarget) {
        return rpc_fail(RpcCode::invalid_parameter,
                        fmt::format("Invalid conf_target, must be between 1 and {}", kMaxFeeTarget));
    }
    if (call.arguments.has(1)) {
        std::string mode(call.arguments[1].text());
        std::ranges::transform(mode, mode.begin(), to_lower);
        if (mode != "unset" && mode != "economical" && mode != "conservative") {
            return rpc_fail(RpcCode::invalid_parameter,
                            "Invalid estimate_mode parameter, must be one of: \"unset\", \"economical\", "
                            "\"conservative\"");
        }
    }
    call.result.begin_object();
    call.result.key("errors");
    call.result.begin_array();
    call.result.string("Insufficient data or no feerate found");
    call.result.end_array();
    call.result.member("blocks", 0);
    call.result.end_object();
    return {};
}

}  // namespace

void add_mining_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    methods.push_back({
        .category = "mining",
        .name = "getblocktemplate",
        .lane = Lane::chain,
        .arguments =
            {{.names = "template_request",
              .type = ArgumentType::object,
              .required = false,
              .fallback = "{}",
              .text = "what is wanted (BIP 22, BIP 23)",
              .element = "\"mode\":\"str\",\"data\":\"hex\"",
              .details =
                  "{\n  \"mode\" : \"str\",    (string) template or proposal\n  \"data\" : \"hex\"     "
                  "(string) the block, for a proposal\n}\n"}},
        .description =
            "blockpub makes no templates: error -9, as from a node without peers. A proposal is tried on top "
            "of the tip.",
        .result = "Result (for a proposal that would be valid):\nnull    (json null)\n\n"
                  "Result (for any other):\n\"str\"    (string) why not\n",
        .example = "'{\"rules\": [\"segwit\"]}'",
        .json_example = "{\"rules\": [\"segwit\"]}",
        .handler = [&context](const RpcCall& call) { return get_block_template(context, call); },
    });
    methods.push_back({
        .category = "mining",
        .name = "getmininginfo",
        .description = "The chain as miners look at it.",
        .result = "Result:\n"
                  "{                          (json object)\n"
                  "  \"blocks\" : n,            (numeric) height of the tip\n"
                  "  \"difficulty\" : n,        (numeric) its difficulty\n"
                  "  \"networkhashps\" : n,     (numeric) hashes a second over the last 120 blocks\n"
                  "  \"pooledtx\" : n,          (numeric) transactions in the mempool\n"
                  "  \"chain\" : \"str\",         (string) main, test, testnet4, signet or regtest\n"
                  "  \"signet_challenge\" : \"hex\",  (string) on signet: the script that its blocks are "
                  "signed for\n"
                  "  \"warnings\" : [           (json array) what an operator should look at\n"
                  "    \"str\",                 (string) a sentence\n"
                  "    ...\n"
                  "  ]\n"
                  "}\n",
        .handler = [&context](const RpcCall& call) { return get_mining_info(context, call); },
    });
    methods.push_back({
        .category = "mining",
        .name = "getnetworkhashps",
        .lane = Lane::wait,
        .arguments = {{.names = "nblocks",
                       .type = ArgumentType::number,
                       .required = false,
                       .fallback = "120",
                       .text = "how many blocks; -1 for those since the difficulty last changed"},
                      {.names = "height",
                       .type = ArgumentType::number,
                       .required = false,
                       .fallback = "-1",
                       .text = "the last of them; -1 for the tip"}},
        .description = "Hashes a second that the network seems to make.",
        .result = "Result:\nn    (numeric) hashes a second\n",
        .handler = [&context](const RpcCall& call) { return get_network_hash_ps(context, call); },
    });
    methods.push_back({
        .category = "util",
        .name = "estimatesmartfee",
        .arguments = {{.names = "conf_target",
                       .type = ArgumentType::number,
                       .text = "in how many blocks it should be confirmed, 1 to 1008"},
                      {.names = "estimate_mode",
                       .type = ArgumentType::string,
                       .required = false,
                       .fallback = "economical",
                       .text = "unset, economical or conservative"}},
        .description = "The fee rate that a transaction needs. blockpub does not watch what transactions "
                       "pay, and says so.",
        .result = "Result:\n"
                  "{                   (json object)\n"
                  "  \"errors\" : [      (json array)\n"
                  "    \"str\",          (string) why there is no fee rate\n"
                  "    ...\n"
                  "  ],\n"
                  "  \"blocks\" : n      (numeric) 0\n"
                  "}\n",
        .example = "6",
        .json_example = "6",
        .handler = [](const RpcCall& call) { return estimate_smart_fee(call); },
    });
}

}  // namespace blockpub
