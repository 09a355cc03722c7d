// SPDX-License-Identifier: MIT
#include "base/log.hpp"
#include "query/coin_statistics.hpp"
#include "query/rpc_context.hpp"

#include <fmt/format.h>

#include <chrono>
#include <limits>
#include <string>

namespace blockpub {

namespace {

std::string decimal_amount(Amount amount) {
    constexpr Amount kCoin = 100'000'000;
    return fmt::format("{}.{:08}", amount / kCoin, amount % kCoin);
}

void write_statistics(JsonWriter& out, const CoinStatistics& statistics, std::uint64_t disk_bytes) {
    out.begin_object();
    out.member("height", statistics.tip.height.value);
    out.member("bestblock", statistics.tip.hash.display_hex());
    out.member("txouts", statistics.coins);
    out.member("bogosize", statistics.bogosize);
    if (!statistics.hash_name.empty()) out.member(statistics.hash_name, statistics.hash.display_hex());
    out.key("total_amount");
    out.literal(decimal_amount(statistics.total));
    out.member("transactions", statistics.transactions);
    out.member("disk_size", disk_bytes);
    out.end_object();
}

/// One scan; its cost is logged, since its read transaction keeps the table from reusing pages.
Result<CoinStatistics> timed_statistics(const RpcContext& context, CoinHash hash) {
    const auto began = std::chrono::steady_clock::now();
    const std::uint64_t bytes_before = context.coins->status().disk_bytes;
    auto snapshot = context.coins->snapshot();
    if (!snapshot) return forward_error(snapshot);
    auto statistics = coin_statistics(*snapshot, hash, context.stopping);
    if (!statistics) return statistics;
    const auto took = std::chrono::steady_clock::now() - began;
    Log(context.logger, LogCategory::rpc)
        .info("gettxoutsetinfo {}: {} coins in {} ms; the table grew by {} bytes meanwhile",
              coin_hash_name(hash), statistics->coins,
              std::chrono::duration_cast<std::chrono::milliseconds>(took).count(),
              context.coins->status().disk_bytes - bytes_before);
    return statistics;
}

RpcOutcome get_tx_out_set_info(const RpcContext& context, const RpcCall& call) {
    CoinHash hash = CoinHash::hash_serialized_3;
    if (call.arguments.has(0)) {
        const std::string_view name = call.arguments[0].text();
        const auto known = coin_hash_from_name(name);
        if (!known)
            return rpc_fail(RpcCode::invalid_parameter, fmt::format("'{}' is not a valid hash_type", name));
        hash = *known;
    }
    if (call.arguments.has(1)) {
        return rpc_fail(RpcCode::invalid_parameter,
                        "Querying specific block heights requires coinstatsindex");
    }
    const auto statistics = timed_statistics(context, hash);
    if (!statistics && statistics.error().code == Errc::stopped)
        return rpc_fail(RpcCode::client_not_connected, "Shutting down");
    if (!statistics) return rpc_fail(statistics.error());
    write_statistics(call.result, *statistics, context.coins->status().disk_bytes);
    return {};
}

}  // namespace

void add_coin_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    methods.push_back({
        .category = "blockchain",
        .name = "gettxoutsetinfo",
        .lane = Lane::scan,
        .arguments =
            {{.names = "hash_type",
              .type = ArgumentType::string,
              .required = false,
              .fallback = "\"hash_serialized_3\"",
              .text =
                  "What to work out: hash_serialized_3 (a hash of all coins in their order), muhash (of the "
                  "set, in whatever order) or none (quickest)"},
             {.names = "hash_or_height",
              .type = ArgumentType::number,
              .required = false,
              .text = "A block other than the tip; refused, since it would need an index that is not kept",
              .checked = false},
             {.names = "use_index",
              .type = ArgumentType::boolean,
              .required = false,
              .fallback = "true",
              .text = "Without effect: there is no index"}},
        .description = "Statistics about all coins of the tip. Reads every one of them, which may take "
                       "minutes; calls take "
                       "turns.",
        .result =
            "Result:\n"
            "{                                (json object)\n"
            "  \"height\" : n,                  (numeric) height of the tip\n"
            "  \"bestblock\" : \"hex\",           (string) its hash\n"
            "  \"txouts\" : n,                  (numeric) number of coins\n"
            "  \"bogosize\" : n,                (numeric) a measure of their size that no database has a "
            "part in\n"
            "  \"hash_serialized_3\" : \"hex\",   (string, optional) with hash_type hash_serialized_3\n"
            "  \"muhash\" : \"hex\",              (string, optional) with hash_type muhash\n"
            "  \"total_amount\" : n,            (numeric) their amounts together\n"
            "  \"transactions\" : n,            (numeric) transactions that have a coin left\n"
            "  \"disk_size\" : n                (numeric) bytes of the coins' file\n"
            "}\n",
        .example = "\"muhash\"",
        .json_example = "\"muhash\"",
        .handler = [&context](const RpcCall& call) { return get_tx_out_set_info(context, call); },
    });
}

}  // namespace blockpub
