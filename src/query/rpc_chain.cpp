// SPDX-License-Identifier: MIT
#include "base/hex.hpp"
#include "primitives/header.hpp"
#include "primitives/work.hpp"
#include "query/chain_view.hpp"
#include "query/rpc_context.hpp"
#include "query/rpc_warnings.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace blockpub {

namespace {

RpcOutcome get_block_count(const RpcContext& context, const RpcCall& call) {
    auto snapshot = context.store->snapshot();
    if (!snapshot) return rpc_fail(snapshot.error());
    const auto tip = snapshot->tip();
    if (!tip) return rpc_fail(tip.error());
    call.result.unsigned_integer(tip->height.value);
    return {};
}

RpcOutcome get_best_block_hash(const RpcContext& context, const RpcCall& call) {
    auto snapshot = context.store->snapshot();
    if (!snapshot) return rpc_fail(snapshot.error());
    const auto tip = snapshot->tip();
    if (!tip) return rpc_fail(tip.error());
    call.result.string(tip->hash.display_hex());
    return {};
}

struct LeafRow {
    BlockHash hash;
    HeaderRecord record;
    std::uint32_t branch_length = 0;
    std::string_view status;
};

std::string_view branch_status(const HeaderRecord& record) {
    if ((record.status & (HeaderRecord::kFailed | HeaderRecord::kFailedChild)) != 0) return "invalid";
    if ((record.status & HeaderRecord::kHasChain) == 0) return "headers-only";
    return (record.status & HeaderRecord::kConnected) != 0 ? "valid-fork" : "valid-headers";
}

/// Blocks from the leaf back to the active chain.
Result<std::uint32_t> branch_length(const Snapshot& snapshot, BlockHash hash, HeaderRecord record) {
    for (std::uint32_t length = 0;; ++length) {
        auto active = is_active(snapshot, hash, record.height);
        if (!active) return forward_error(active);
        if (*active) return length;
        hash = BlockHeader::decode(record.header).previous;
        auto parent = snapshot.header(hash);
        if (!parent) return forward_error(parent);
        record = *parent;
    }
}

Result<std::vector<LeafRow>> leaf_rows(const Snapshot& snapshot) {
    auto tip = snapshot.tip();
    if (!tip) return forward_error(tip);
    auto leaves = snapshot.tips();
    if (!leaves) return forward_error(leaves);
    // The active tip is listed even where headers are known beyond it.
    if (std::ranges::find(*leaves, tip->hash) == leaves->end()) leaves->push_back(tip->hash);
    std::vector<LeafRow> rows;
    for (const BlockHash& hash : *leaves) {
        auto record = snapshot.header(hash);
        if (!record) return forward_error(record);
        LeafRow row{hash, *record, 0, "active"};
        if (hash != tip->hash) {
            auto length = branch_length(snapshot, hash, *record);
            if (!length) return forward_error(length);
            row.branch_length = *length;
            row.status = branch_status(*record);
        }
        rows.push_back(row);
    }
    std::ranges::sort(rows, [](const LeafRow& a, const LeafRow& b) {
        return a.record.height != b.record.height ? a.record.height > b.record.height : a.hash < b.hash;
    });
    return rows;
}

RpcOutcome get_chain_tips(const RpcContext& context, const RpcCall& call) {
    auto snapshot = context.store->snapshot();
    if (!snapshot) return rpc_fail(snapshot.error());
    const auto rows = leaf_rows(*snapshot);
    if (!rows) return rpc_fail(rows.error());
    call.result.begin_array();
    for (const LeafRow& row : *rows) {
        call.result.begin_object();
        call.result.member("height", row.record.height.value);
        call.result.member("hash", row.hash.display_hex());
        call.result.member("branchlen", row.branch_length);
        call.result.member("status", row.status);
        call.result.end_object();
    }
    call.result.end_array();
    return {};
}

void write_pruning(JsonWriter& out, const PruneOptions& options, const ChainStatus& status) {
    const bool pruned = options.mode != PruneOptions::Mode::off || status.pruned_to || status.coins_missing;
    out.member("pruned", pruned);
    if (!pruned) return;
    out.member("pruneheight", status.pruned_to ? status.pruned_to->next().value : 0);
    const bool automatic = options.mode == PruneOptions::Mode::automatic;
    out.member("automatic_pruning", automatic);
    if (automatic) out.member("prune_target_size", options.target_bytes);
}

RpcOutcome get_blockchain_info(const RpcContext& context, const RpcCall& call) {
    auto snapshot = context.store->snapshot();
    if (!snapshot) return rpc_fail(snapshot.error());
    const auto tip = snapshot->tip();
    if (!tip) return rpc_fail(tip.error());
    const auto record = snapshot->header(tip->hash);
    if (!record) return rpc_fail(record.error());
    const auto median = median_time_past(*snapshot, *record);
    if (!median) return rpc_fail(median.error());
    const BlockHeader header = BlockHeader::decode(record->header);
    const ChainStatus status = context.chain->status();

    JsonWriter& out = call.result;
    out.begin_object();
    out.member("chain", std::string_view(context.params->name));
    out.member("blocks", tip->height.value);
    out.member("headers", std::max(tip->height, status.best_header.height).value);
    out.member("bestblockhash", tip->hash.display_hex());
    out.member("difficulty", difficulty(header.bits));
    out.member("time", header.time);
    out.member("mediantime", *median);
    out.member("verificationprogress",
               verification_progress(*context.params, *record, context.clock->now_seconds()));
    out.member("initialblockdownload", status.initial_download);
    out.key("chainwork");
    out.hex(record->chainwork);
    out.member("size_on_disk", context.store->status().blob_bytes_on_disk);
    write_pruning(out, context.prune, status);
    if (!context.params->signet_challenge.empty()) {
        out.key("signet_challenge");
        out.hex(context.params->signet_challenge);
    }
    write_warnings(out, context);
    out.end_object();
    return {};
}

}  // namespace

void add_chain_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    methods.push_back({
        .category = "blockchain",
        .name = "getbestblockhash",
        .description = "Hash of the active chain's tip.",
        .result = "Result:\n\"hex\"    (string) the tip's hash\n",
        .handler = [&context](const RpcCall& call) { return get_best_block_hash(context, call); },
    });
    methods.push_back({
        .category = "blockchain",
        .name = "getblockchaininfo",
        .description = "Where the chain stands.",
        .result =
            "Result:\n"
            "{                                    (json object)\n"
            "  \"chain\" : \"str\",                  (string) main, test, testnet4, signet or regtest\n"
            "  \"blocks\" : n,                     (numeric) height of the tip\n"
            "  \"headers\" : n,                    (numeric) height of the header with the most work\n"
            "  \"bestblockhash\" : \"str\",          (string) hash of the tip\n"
            "  \"difficulty\" : n,                 (numeric) difficulty of the tip\n"
            "  \"time\" : xxx,                     (numeric) time of the tip, seconds since 1970\n"
            "  \"mediantime\" : xxx,               (numeric) median time of the tip and the ten blocks "
            "before it\n"
            "  \"verificationprogress\" : n,       (numeric) estimated share of the chain that is "
            "here, 0 to 1\n"
            "  \"initialblockdownload\" : bool,    (boolean) whether initial download holds\n"
            "  \"chainwork\" : \"hex\",              (string) work of the active chain\n"
            "  \"size_on_disk\" : n,               (numeric) bytes of the stored blocks\n"
            "  \"pruned\" : bool,                  (boolean) whether old blocks are given up, or were\n"
            "  \"pruneheight\" : n,                (numeric, optional) the lowest block that is here, with "
            "all above it\n"
            "  \"automatic_pruning\" : bool,       (boolean, optional) whether they go by themselves\n"
            "  \"prune_target_size\" : n,          (numeric, optional) bytes that they may take then\n"
            "  \"signet_challenge\" : \"hex\",       (string) on signet: the script that its blocks "
            "are signed for\n"
            "  \"warnings\" : [                    (json array) what an operator should look at\n"
            "    \"str\",                          (string) a sentence\n"
            "    ...\n"
            "  ]\n"
            "}\n",
        .handler = [&context](const RpcCall& call) { return get_blockchain_info(context, call); },
    });
    methods.push_back({
        .category = "blockchain",
        .name = "getblockcount",
        .description = "Height of the active chain's tip; genesis is 0.",
        .result = "Result:\nn    (numeric) the height\n",
        .handler = [&context](const RpcCall& call) { return get_block_count(context, call); },
    });
    methods.push_back({
        .category = "blockchain",
        .name = "getchaintips",
        .description = "Every leaf of the tree of headers, the active tip among them, the highest first.",
        .result = "Result:\n"
                  "[                        (json array)\n"
                  "  {                      (json object)\n"
                  "    \"height\" : n,        (numeric) height of the leaf\n"
                  "    \"hash\" : \"hex\",      (string) its hash\n"
                  "    \"branchlen\" : n,     (numeric) blocks between it and the active chain; 0 for the "
                  "active tip\n"
                  "    \"status\" : \"str\"     (string) active, valid-fork (was connected once), "
                  "valid-headers (here, never connected),\n"
                  "                         headers-only (its blocks are not all here) or invalid\n"
                  "  },\n"
                  "  ...\n"
                  "]\n",
        .handler = [&context](const RpcCall& call) { return get_chain_tips(context, call); },
    });
}

}  // namespace blockpub
