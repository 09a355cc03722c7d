// SPDX-License-Identifier: MIT
#include "base/log.hpp"
#include "query/coin_statistics.hpp"
#include "query/rpc_lookup.hpp"
#include "query/script_json.hpp"

#include <fmt/format.h>

#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace blockpub {

namespace {

std::expected<std::uint32_t, RpcError> position_argument(JsonValue value) {
    const auto wide = integer_argument(value);
    if (!wide) return std::unexpected(wide.error());
    if (*wide < 0 || *wide > std::numeric_limits<std::uint32_t>::max())
        return rpc_fail(RpcCode::misc_error, "JSON integer out of range");
    return static_cast<std::uint32_t>(*wide);
}

struct FoundCoin {
    BlockHash best_block;
    std::uint32_t confirmations = 0;
    Coin coin;
};

/// The coin at the tip, or behind the mempool where that is asked for; nothing when it is spent or was never
/// made.
Result<std::optional<FoundCoin>> find_coin(const RpcContext& context, const Outpoint& outpoint,
                                           bool with_mempool) {
    // The pool first: a transaction that a block takes out of it meanwhile has its coins in the snapshot.
    MempoolCoin pooled;
    if (with_mempool && context.mempool_coins != nullptr) pooled = context.mempool_coins->look_up(outpoint);
    if (pooled.spent) return std::nullopt;
    auto snapshot = context.coins->snapshot();
    if (!snapshot) return forward_error(snapshot);
    const Tip tip = snapshot->tip();
    if (pooled.made)
        return FoundCoin{.best_block = tip.hash, .confirmations = 0, .coin = std::move(*pooled.made)};
    auto coin = snapshot->find(outpoint);
    if (!coin && coin.error().code == Errc::not_found) return std::nullopt;
    if (!coin) return forward_error(coin);
    const std::uint32_t confirmations = tip.height.value - coin->height.value + 1;
    return FoundCoin{.best_block = tip.hash, .confirmations = confirmations, .coin = std::move(*coin)};
}

RpcOutcome get_tx_out(const RpcContext& context, const RpcCall& call) {
    const auto txid = hash_argument<Txid>(call.arguments[0], "txid");
    if (!txid) return std::unexpected(txid.error());
    const auto position = position_argument(call.arguments[1]);
    if (!position) return std::unexpected(position.error());
    std::expected<bool, RpcError> with_mempool = true;
    if (call.arguments.has(2)) with_mempool = boolean_argument(call.arguments[2]);
    if (!with_mempool) return std::unexpected(with_mempool.error());
    const auto found = find_coin(context, {.txid = *txid, .position = *position}, *with_mempool);
    if (!found) return rpc_fail(found.error());
    JsonWriter& out = call.result;
    if (!*found) {
        out.null();
        return {};
    }
    const FoundCoin& coin = **found;
    out.begin_object();
    out.member("bestblock", coin.best_block.display_hex());
    out.member("confirmations", coin.confirmations);
    out.key("value");
    out.amount(coin.coin.amount);
    out.key("scriptPubKey");
    out.raw([&](std::string& text) {
        TextAppender appender(text);
        OutputScriptWriter(appender, *context.params).append(coin.coin.script);
    });
    out.member("coinbase", coin.coin.coinbase);
    out.end_object();
    return {};
}

void write_statistics(JsonWriter& out, const CoinStatistics& statistics, std::uint64_t disk_bytes) {
    out.begin_object();
    out.member("height", statistics.tip.height.value);
    out.member("bestblock", statistics.tip.hash.display_hex());
    out.member("txouts", statistics.coins);
    out.member("bogosize", statistics.bogosize);
    if (!statistics.hash_name.empty()) out.member(statistics.hash_name, statistics.hash.display_hex());
    out.key("total_amount");
    out.amount(statistics.total);
    out.member("transactions", statistics.transactions);
    out.member("disk_size", disk_bytes);
    out.end_object();
}

/// One scan; its cost is logged, since its read transaction keeps the table from reusing pages.
Result<CoinStatistics> timed_statistics(const RpcContext& context, const RpcCall& call, CoinHash hash) {
    const auto began = std::chrono::steady_clock::now();
    const std::uint64_t bytes_before = context.coins->status().disk_bytes;
    auto snapshot = context.coins->snapshot();
    if (!snapshot) return forward_error(snapshot);
    auto statistics = coin_statistics(*snapshot, hash, given_up(context, call));
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
    const auto statistics = timed_statistics(context, call, hash);
    if (!statistics && statistics.error().code == Errc::stopped) return given_up_error(context);
    if (!statistics) return rpc_fail(statistics.error());
    write_statistics(call.result, *statistics, context.coins->status().disk_bytes);
    return {};
}

}  // namespace

void add_coin_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    methods.push_back({
        .category = "blockchain",
        .name = "gettxout",
        .arguments = {{.names = "txid",
                       .type = ArgumentType::hex,
                       .text = "The transaction that made the output"},
                      {.names = "n", .type = ArgumentType::number, .text = "Its position, from 0"},
                      {.names = "include_mempool",
                       .type = ArgumentType::boolean,
                       .required = false,
                       .fallback = "true",
                       .text = "Whether what the mempool spends counts as spent, and what it makes as made"}},
        .description = "An output that has not been spent; null for one that has, or that there never was.",
        .result =
            "Result:\n"
            "{                             (json object)\n"
            "  \"bestblock\" : \"hex\",        (string) hash of the tip at which this holds\n"
            "  \"confirmations\" : n,        (numeric) blocks from the one that made it to the tip; 0 in the "
            "mempool\n"
            "  \"value\" : n,                (numeric) its amount in BTC\n"
            "  \"scriptPubKey\" : {          (json object)\n"
            "    \"asm\" : \"str\",            (string) the script's disassembly\n"
            "    \"desc\" : \"str\",           (string) its descriptor\n"
            "    \"hex\" : \"hex\",            (string) its bytes\n"
            "    \"address\" : \"str\",        (string, optional) its address, where it has one\n"
            "    \"type\" : \"str\"            (string) its form, pubkeyhash for instance\n"
            "  },\n"
            "  \"coinbase\" : bool           (boolean) whether a coinbase made it\n"
            "}\n",
        .example = "\"txid\" 1",
        .json_example = "\"txid\", 1",
        .handler = [&context](const RpcCall& call) { return get_tx_out(context, call); },
    });
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
