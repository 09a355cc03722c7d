// SPDX-License-Identifier: MIT
#include "chain/block_checks.hpp"
#include "chain/undo.hpp"
#include "primitives/header.hpp"
#include "primitives/work.hpp"
#include "query/rpc_lookup.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace blockpub {

namespace {

constexpr int kMaxCheckLevel = 4;

RpcOutcome get_difficulty(const RpcContext& context, const RpcCall& call) {
    const auto snapshot = context.store->snapshot();
    if (!snapshot) return rpc_fail(snapshot.error());
    const auto tip = snapshot->tip();
    if (!tip) return rpc_fail(tip.error());
    const auto record = snapshot->header(tip->hash);
    if (!record) return rpc_fail(record.error());
    call.result.real(difficulty(BlockHeader::decode(record->header).bits));
    return {};
}

/// The last block of the window: the tip, or the block named, which must be in the active chain.
std::expected<HeaderView, RpcError> window_end(const Snapshot& snapshot, JsonValue named) {
    BlockHash hash;
    if (named.is_null()) {
        const auto tip = snapshot.tip();
        if (!tip) return rpc_fail(tip.error());
        hash = tip->hash;
    } else {
        const auto wanted = hash_argument<BlockHash>(named, "blockhash");
        if (!wanted) return std::unexpected(wanted.error());
        hash = *wanted;
    }
    auto header = header_view(snapshot, hash);
    if (!header) return no_block(header.error());
    if (header->place.confirmations < 0)
        return rpc_fail(RpcCode::invalid_parameter, "Block is not in main chain");
    return *std::move(header);
}

std::expected<int, RpcError> window_size(const ChainParams& params, JsonValue given, std::int64_t height) {
    if (given.is_null()) {
        constexpr std::int64_t kMonth = 30 * 24 * 60 * 60;
        return static_cast<int>(
            std::max(std::int64_t{0}, std::min(kMonth / params.target_spacing, height - 1)));
    }
    const auto count = int_argument(given);
    if (!count) return std::unexpected(count.error());
    if (*count < 0 || (*count > 0 && *count >= height)) {
        return rpc_fail(RpcCode::invalid_parameter,
                        "Invalid block count: should be between 0 and the block's height - 1");
    }
    return *count;
}

RpcOutcome get_chain_tx_stats(const RpcContext& context, const RpcCall& call) {
    const auto snapshot = context.store->snapshot();
    if (!snapshot) return rpc_fail(snapshot.error());
    const auto last = window_end(*snapshot, call.arguments[1]);
    if (!last) return std::unexpected(last.error());
    const std::int64_t height = last->record.height.value;
    const auto count = window_size(*context.params, call.arguments[0], height);
    if (!count) return std::unexpected(count.error());
    const auto first_hash = snapshot->active({static_cast<std::uint32_t>(height - *count)});
    if (!first_hash) return rpc_fail(first_hash.error());
    const auto first = header_view(*snapshot, *first_hash);
    if (!first) return rpc_fail(first.error());

    JsonWriter& out = call.result;
    out.begin_object();
    out.member("time", BlockHeader::decode(last->record.header).time);
    const std::uint64_t transactions = last->record.chain_tx_count;
    if (transactions != 0) out.member("txcount", transactions);
    out.member("window_final_block_hash", last->hash.display_hex());
    out.member("window_final_block_height", height);
    out.member("window_block_count", *count);
    if (*count > 0) {
        const std::int64_t interval = last->median_time - first->median_time;
        out.member("window_interval", interval);
        if (transactions != 0 && first->record.chain_tx_count != 0) {
            const std::uint64_t in_window = transactions - first->record.chain_tx_count;
            out.member("window_tx_count", in_window);
            if (interval > 0)
                out.member("txrate", static_cast<double>(in_window) / static_cast<double>(interval));
        }
    }
    out.end_object();
    return {};
}

/// Whether undo data has a coin for every input of the block behind the coinbase.
bool undo_fits(const ParsedBlock& block, ByteSpan bytes) {
    auto undo = UndoReader::open(bytes);
    if (!undo || undo->transaction_count() + 1 != block.transactions().size()) return false;
    for (std::size_t i = 1; i < block.transactions().size(); ++i) {
        const std::size_t coins = undo->next_transaction();
        if (coins != block.transaction(i).input_count()) return false;
        for (std::size_t k = 0; k < coins && undo->ok(); ++k) (void)undo->next_coin();
    }
    return undo->ok();
}

/// Reads one block and holds it to what the level asks for. From the disk, which is what is asked about.
bool block_is_good(const RpcContext& context, const HeaderView& header, int level) {
    auto raw = context.stored_blocks->read_block(header.hash);
    if (!raw) return false;
    auto block = ParsedBlock::parse(*std::move(raw));
    if (!block || block->hash() != header.hash) return false;
    if (level >= 1 && check_block_context_free(*block, *context.params)) return false;
    // Undo data and facts come with coins.
    if (level < 2 || context.chain->status().coins_missing) return true;
    if (!header.record.undo || !header.record.facts) return false;
    const auto undo = context.store->read_blob(*header.record.undo);
    if (!undo || !undo_fits(*block, undo->bytes())) return false;
    const auto stored = context.store->read_blob(*header.record.facts);
    if (!stored) return false;
    const auto facts = FactsView::open(stored->bytes());
    return facts && facts->count() == block->transactions().size();
}

/// The active chain's block at a height, nothing above the tip. Its snapshot ends here: none is held over a
/// read of the disk.
Result<std::optional<HeaderView>> active_header(const Store& store, Height height) {
    auto snapshot = store.snapshot();
    if (!snapshot) return forward_error(snapshot);
    auto hash = snapshot->active(height);
    if (!hash && hash.error().code == Errc::not_found) return std::nullopt;
    if (!hash) return forward_error(hash);
    auto header = header_view(*snapshot, *hash);
    if (!header) return forward_error(header);
    return *std::move(header);
}

RpcOutcome verify_chain(const RpcContext& context, const RpcCall& call) {
    constexpr int kDefaultLevel = 3;
    constexpr int kDefaultBlocks = 6;
    const auto level = call.arguments.has(0) ? int_argument(call.arguments[0]) : kDefaultLevel;
    if (!level) return std::unexpected(level.error());
    const auto blocks = call.arguments.has(1) ? int_argument(call.arguments[1]) : kDefaultBlocks;
    if (!blocks) return std::unexpected(blocks.error());
    const int checks = std::clamp(*level, 0, kMaxCheckLevel);
    std::uint32_t height = 0;
    {
        const auto snapshot = context.store->snapshot();
        if (!snapshot) return rpc_fail(snapshot.error());
        const auto tip = snapshot->tip();
        if (!tip) return rpc_fail(tip.error());
        height = tip->height.value;
    }
    const auto wanted = static_cast<std::uint32_t>(std::max(*blocks, 0));
    const std::uint32_t last = wanted == 0 || wanted >= height ? 1 : height - wanted + 1;
    const auto over = given_up(context, call);
    for (; height >= last; --height) {
        if (over()) return given_up_error(context);
        const auto header = active_header(*context.store, {height});
        if (!header) return rpc_fail(header.error());
        if (!*header) continue;  // the chain has become shorter meanwhile
        if (((*header)->record.status & HeaderRecord::kPruned) != 0) break;
        if (!block_is_good(context, **header, checks)) {
            call.result.boolean(false);
            return {};
        }
    }
    call.result.boolean(true);
    return {};
}

}  // namespace

void add_chain_stats_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    methods.push_back({
        .category = "blockchain",
        .name = "getdifficulty",
        .description =
            "Difficulty of the tip: how many times as hard as the easiest target of the main chain.",
        .result = "Result:\nn    (numeric) the difficulty\n",
        .handler = [&context](const RpcCall& call) { return get_difficulty(context, call); },
    });
    methods.push_back({
        .category = "blockchain",
        .name = "getchaintxstats",
        .arguments = {{.names = "nblocks",
                       .type = ArgumentType::number,
                       .required = false,
                       .fallback = "one month",
                       .text = "size of the window in blocks"},
                      {.names = "blockhash",
                       .type = ArgumentType::hex,
                       .required = false,
                       .fallback = "chain tip",
                       .text = "the block that ends the window"}},
        .description = "How many transactions there are in the chain, and in a window of it.",
        .result = "Result:\n"
                  "{                                       (json object)\n"
                  "  \"time\" : xxx,                         (numeric) time of the window's last block\n"
                  "  \"txcount\" : n,                        (numeric, optional) transactions up to it\n"
                  "  \"window_final_block_hash\" : \"hex\",    (string) its hash\n"
                  "  \"window_final_block_height\" : n,      (numeric) its height\n"
                  "  \"window_block_count\" : n,             (numeric) size of the window in blocks\n"
                  "  \"window_interval\" : n,                (numeric, optional) its length in seconds\n"
                  "  \"window_tx_count\" : n,                (numeric, optional) transactions in it\n"
                  "  \"txrate\" : n                          (numeric, optional) transactions a second\n"
                  "}\n",
        .example = "2016",
        .json_example = "2016",
        .handler = [&context](const RpcCall& call) { return get_chain_tx_stats(context, call); },
    });
    methods.push_back({
        .category = "blockchain",
        .name = "verifychain",
        .lane = Lane::scan,
        .arguments =
            {{.names = "checklevel",
              .type = ArgumentType::number,
              .required = false,
              .fallback = "3",
              .text = "how thorough: 0 reads the blocks, 1 holds them to the rules that need no ancestor, 2 "
                      "and above look at undo data and facts too"},
             {.names = "nblocks",
              .type = ArgumentType::number,
              .required = false,
              .fallback = "6",
              .text = "how many blocks below the tip; 0 for all"}},
        .description = "Looks at the stored blocks. One such walk goes on at a time.",
        .result = "Result:\ntrue|false    (boolean) whether all were good\n",
        .handler = [&context](const RpcCall& call) { return verify_chain(context, call); },
    });
}

}  // namespace blockpub
