// SPDX-License-Identifier: MIT
#include "chain/connect_block.hpp"
#include "chain/facts.hpp"
#include "primitives/header.hpp"
#include "primitives/subsidy.hpp"
#include "query/rpc_lookup.hpp"
#include "store/block_lookup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <vector>

namespace blockpub {

namespace {

/// All that getblockstats tells of one block.
struct StatsView {
    const HeaderView& header;
    const BlockStats& stats;
    std::size_t transactions;
    std::int64_t subsidy;
};

struct Figure {
    std::string_view name;
    void (*write)(JsonWriter& out, const StatsView& view);
    std::string_view text;
};

template <auto Member>
void write_figure(JsonWriter& out, const StatsView& view) {
    out.integer(view.stats.*Member);
}

void write_percentiles(JsonWriter& out, const StatsView& view) {
    out.begin_array();
    for (const std::int64_t rate : view.stats.fee_rate_percentiles) out.integer(rate);
    out.end_array();
}

// In the order in which all of them are told.
constexpr auto kFigures = std::to_array<Figure>({
    {"avgfee", write_figure<&BlockStats::average_fee>, "(numeric) average fee"},
    {"avgfeerate", write_figure<&BlockStats::average_fee_rate>, "(numeric) average fee rate"},
    {"avgtxsize", write_figure<&BlockStats::average_tx_size>, "(numeric) average size of a transaction"},
    {"blockhash", [](JsonWriter& out, const StatsView& v) { out.string(v.header.hash.display_hex()); },
     "(string) hash of the block"},
    {"feerate_percentiles", write_percentiles,
     "(json array) fee rates at 10, 25, 50, 75 and 90 percent of the weight"},
    {"height",
     [](JsonWriter& out, const StatsView& v) { out.unsigned_integer(v.header.record.height.value); },
     "(numeric) height of the block"},
    {"ins", write_figure<&BlockStats::inputs>, "(numeric) inputs, without the coinbase's"},
    {"maxfee", write_figure<&BlockStats::max_fee>, "(numeric) highest fee"},
    {"maxfeerate", write_figure<&BlockStats::max_fee_rate>, "(numeric) highest fee rate"},
    {"maxtxsize", write_figure<&BlockStats::max_tx_size>, "(numeric) size of the largest transaction"},
    {"medianfee", write_figure<&BlockStats::median_fee>, "(numeric) median fee"},
    {"mediantime", [](JsonWriter& out, const StatsView& v) { out.integer(v.header.median_time); },
     "(numeric) median time of the block and the ten before it"},
    {"mediantxsize", write_figure<&BlockStats::median_tx_size>, "(numeric) median size of a transaction"},
    {"minfee", write_figure<&BlockStats::min_fee>, "(numeric) lowest fee"},
    {"minfeerate", write_figure<&BlockStats::min_fee_rate>, "(numeric) lowest fee rate"},
    {"mintxsize", write_figure<&BlockStats::min_tx_size>, "(numeric) size of the smallest transaction"},
    {"outs", write_figure<&BlockStats::outputs>, "(numeric) outputs"},
    {"subsidy", [](JsonWriter& out, const StatsView& v) { out.integer(v.subsidy); }, "(numeric) new coins"},
    {"swtotal_size", write_figure<&BlockStats::segwit_total_size>,
     "(numeric) size of all transactions with witness"},
    {"swtotal_weight", write_figure<&BlockStats::segwit_total_weight>, "(numeric) their weight"},
    {"swtxs", write_figure<&BlockStats::segwit_txs>, "(numeric) how many they are"},
    {"time",
     [](JsonWriter& out, const StatsView& v) {
         out.unsigned_integer(BlockHeader::decode(v.header.record.header).time);
     },
     "(numeric) the header's time"},
    {"total_out", write_figure<&BlockStats::total_out>,
     "(numeric) amount of all outputs, without the coinbase's"},
    {"total_size", write_figure<&BlockStats::total_size>,
     "(numeric) size of all transactions but the coinbase"},
    {"total_weight", write_figure<&BlockStats::total_weight>, "(numeric) their weight"},
    {"totalfee", write_figure<&BlockStats::total_fee>, "(numeric) all fees"},
    {"txs", [](JsonWriter& out, const StatsView& v) { out.unsigned_integer(v.transactions); },
     "(numeric) transactions, the coinbase too"},
    {"utxo_increase", write_figure<&BlockStats::utxo_increase>, "(numeric) outputs made less outputs spent"},
    {"utxo_size_inc", write_figure<&BlockStats::utxo_size_increase>, "(numeric) the same in bytes"},
    {"utxo_increase_actual", write_figure<&BlockStats::utxo_increase_actual>,
     "(numeric) the same of outputs that can be spent"},
    {"utxo_size_inc_actual", write_figure<&BlockStats::utxo_size_increase_actual>, "(numeric) and in bytes"},
});

/// By height on the active chain, or by hash.
std::expected<HeaderView, RpcError> find_by_hash_or_height(const RpcContext& context, JsonValue value) {
    if (value.kind() != JsonKind::number) {
        const auto hash = hash_argument<BlockHash>(value, "hash_or_height");
        if (!hash) return std::unexpected(hash.error());
        return find_header(context, *hash);
    }
    const auto height = int_argument(value);
    if (!height) return std::unexpected(height.error());
    const auto snapshot = context.store->snapshot();
    if (!snapshot) return rpc_fail(snapshot.error());
    const auto tip = snapshot->tip();
    if (!tip) return rpc_fail(tip.error());
    if (*height < 0) {
        return rpc_fail(RpcCode::invalid_parameter,
                        fmt::format("Target block height {} is negative", *height));
    }
    const Height wanted{static_cast<std::uint32_t>(*height)};
    if (wanted > tip->height) {
        return rpc_fail(RpcCode::invalid_parameter, fmt::format("Target block height {} after current tip {}",
                                                                *height, tip->height.value));
    }
    const auto hash = snapshot->active(wanted);
    if (!hash) return rpc_fail(hash.error());
    auto header = header_view(*snapshot, *hash);
    if (!header) return rpc_fail(header.error());
    return *std::move(header);
}

/// What is asked for, in alphabetical order; nothing for all.
std::expected<std::vector<std::string_view>, RpcError> selection(JsonValue value) {
    std::vector<std::string_view> names;
    for (JsonValue::Cursor c(value); !value.is_null() && !c.done(); c.next()) {
        const auto name = string_argument(c.value());
        if (!name) return std::unexpected(name.error());
        names.push_back(*name);
    }
    std::ranges::sort(names);
    const auto repeated = std::ranges::unique(names);
    names.erase(repeated.begin(), repeated.end());
    return names;
}

struct CountedStats {
    BlockStats stats;
    std::size_t transactions = 0;
};

/// The figures of a block that has no stored facts: worked out from block and undo data.
Result<CountedStats> count_stats(const RpcContext& context, const HeaderView& header) {
    const BlockMaterialReader& reader = *context.material;
    auto batch = reader.batch();
    auto raw = reader.raw(header.hash, header.record, batch);
    if (!raw) return forward_error(raw);
    auto block = ParsedBlock::parse(*std::move(raw));
    if (!block) return forward_error(block);
    BlockUndo undo;
    if (header.record.height.value > 0) {
        auto stored = reader.undo(header.record, batch);
        if (!stored) return forward_error(stored);
        if (!*stored) {
            const bool never_made = context.chain->status().coins_missing;
            return fail(Errc::unavailable, never_made ? "Undo data not available (pruned data)"
                                                      : "Can't read undo data from disk");
        }
        auto decoded = decode_undo((*stored)->bytes());
        if (!decoded) return forward_error(decoded);
        undo = *std::move(decoded);
    }
    if (undo.size() + 1 != block->transactions().size())
        return fail(Errc::corrupt, "undo data of another block");
    const BlockFacts facts = compute_facts(*block, header.record.height,
                                           repeats_earlier_coinbase(header.record.height, header.hash), undo);
    return CountedStats{.stats = facts.stats, .transactions = facts.transactions.size()};
}

Result<CountedStats> block_stats(const RpcContext& context, const HeaderView& header) {
    const BlockMaterialReader& reader = *context.material;
    if (auto missing = missing_block(header.record)) return std::unexpected(*std::move(missing));
    auto facts = reader.facts(header.record);
    if (!facts) return forward_error(facts);
    if (!*facts) return count_stats(context, header);
    const FactsView& view = (*facts)->view();
    return CountedStats{.stats = view.stats(), .transactions = view.count()};
}

RpcOutcome get_block_stats(const RpcContext& context, const RpcCall& call) {
    const auto header = find_by_hash_or_height(context, call.arguments[0]);
    if (!header) return std::unexpected(header.error());
    const auto names = selection(call.arguments[1]);
    if (!names) return std::unexpected(names.error());
    const auto counted = block_stats(context, *header);
    if (!counted) return unreadable_block(context, header->hash, counted.error());
    const StatsView view{.header = *header,
                         .stats = counted->stats,
                         .transactions = counted->transactions,
                         .subsidy = block_subsidy(header->record.height, *context.params)};
    const auto write = [&](const Figure& figure) {
        call.result.key(figure.name);
        figure.write(call.result, view);
    };
    call.result.begin_object();
    if (names->empty()) std::ranges::for_each(kFigures, write);
    for (const std::string_view name : *names) {
        const auto figure = std::ranges::find(kFigures, name, &Figure::name);
        if (figure == kFigures.end()) {
            return rpc_fail(RpcCode::invalid_parameter, fmt::format("Invalid selected statistic '{}'", name));
        }
        write(*figure);
    }
    call.result.end_object();
    return {};
}

std::string_view result_help() {
    static const std::string text = [] {
        std::string out = "Result:\n{                              (json object)\n";
        for (const Figure& figure : kFigures) {
            const bool list = figure.name == "feerate_percentiles";
            const std::string_view value = list                                  ? "[ n, ... ]"
                                           : figure.text.starts_with("(string)") ? "\"hex\""
                                                                                 : "n";
            const std::string head = fmt::format("  \"{}\" : {}{}", figure.name, value,
                                                 figure.name == kFigures.back().name ? "" : ",");
            out += fmt::format("{:<42} {}\n", head, figure.text);
        }
        return out + "}\n";
    }();
    return text;
}

}  // namespace

void add_block_stats_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    methods.push_back({
        .category = "blockchain",
        .name = "getblockstats",
        .arguments = {{.names = "hash_or_height",
                       .type = ArgumentType::string,
                       .text = "hash or height of the block",
                       .checked = false},
                      {.names = "stats",
                       .type = ArgumentType::array,
                       .required = false,
                       .fallback = "all figures",
                       .text = "which figures to tell",
                       .element = "\"stat\"",
                       .details = "[\n  \"stat\",    (string) name of a figure below\n  ...\n]\n"}},
        .description =
            "Figures of one block: fees, sizes, amounts. Amounts are in satoshi, fee rates in satoshi a "
            "virtual byte;\nthe coinbase counts for none of them but txs and outs.\n"
            "A block needs its undo data for it.",
        .result = result_help(),
        .example = "1000 '[\"minfeerate\",\"avgfeerate\"]'",
        .json_example = "1000, [\"minfeerate\",\"avgfeerate\"]",
        .handler = [&context](const RpcCall& call) { return get_block_stats(context, call); },
    });
}

}  // namespace blockpub
