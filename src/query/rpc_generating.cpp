// SPDX-License-Identifier: MIT
#include "base/hex.hpp"
#include "chain/mempool_service.hpp"
#include "primitives/reader.hpp"
#include "primitives/script.hpp"
#include "primitives/transaction.hpp"
#include "query/rpc_context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace blockpub {

namespace {

constexpr std::uint64_t kDefaultTries = 1'000'000;
// What a block has room for, header and coinbase left out.
constexpr std::size_t kMostWeight = 3'992'000;
constexpr std::int64_t kMostSigopsCost = 79'600;
/// The mempool may change while a block of it is made; after so many in a row it is the caller's turn.
constexpr int kFreshMempools = 5;

std::expected<BlockMiner*, RpcError> miner_of(const RpcContext& context) {
    if (context.miner != nullptr) return context.miner;
    return rpc_fail(RpcCode::misc_error, "blocks can be made on regtest only");
}

/// Takes what the mempool holds as far as a block has room for it, parents before children.
void take_mempool(const RpcContext& context, MineRequest& request) {
    request.transactions.clear();
    request.fees = 0;
    if (context.mempool == nullptr) return;
    std::size_t weight = 0;
    std::int64_t sigops_cost = 0;
    std::set<Txid> left_out;
    for (const MempoolRow& row : context.mempool->board().all().rows) {
        const bool orphaned = std::ranges::any_of(row.transaction->spends(), [&](const Outpoint& outpoint) {
            return left_out.contains(outpoint.txid);
        });
        if (orphaned || weight + row.transaction->weight() > kMostWeight ||
            sigops_cost + row.sigops_cost > kMostSigopsCost) {
            left_out.insert(row.transaction->txid());
            continue;
        }
        weight += row.transaction->weight();
        sigops_cost += row.sigops_cost;
        request.transactions.push_back(row.transaction->raw());
        request.fees += row.fee;
    }
}

Result<MinedBlock> mine_mempool(const RpcContext& context, BlockMiner& miner, MineRequest& request) {
    for (int attempt = 1;; ++attempt) {
        take_mempool(context, request);
        auto block = miner.mine(request);
        const bool refused = !block && block.error().code == Errc::invalid_argument;
        if (!refused || attempt == kFreshMempools) return block;
    }
}

using Tries = std::expected<std::uint64_t, RpcError>;

/// As Core's generatetoaddress has it: an int, whose -1 means as many as 64 bits can count.
Tries tries_as_int(const RpcCall& call) {
    if (!call.arguments.has(2)) return kDefaultTries;
    const auto tries = int_argument(call.arguments[2]);
    if (!tries) return std::unexpected(tries.error());
    return static_cast<std::uint64_t>(*tries);
}

/// As Core's generatetodescriptor has it: a whole number of 64 bits.
Tries tries_as_unsigned(const RpcCall& call) {
    if (!call.arguments.has(2)) return kDefaultTries;
    return unsigned_argument(call.arguments[2]);
}

/// Makes `count` blocks one after the other; fewer when the tries for all of them run out, or the daemon is
/// stopped.
RpcOutcome mine_blocks(const RpcContext& context, const RpcCall& call, int count, std::uint64_t tries,
                       const Script& script) {
    const auto miner = miner_of(context);
    if (!miner) return std::unexpected(miner.error());
    MineRequest request{.coinbase_script = script, .max_tries = tries};
    call.result.begin_array();
    for (int i = 0; i < count; ++i) {
        const auto block = mine_mempool(context, **miner, request);
        if (!block) {
            switch (block.error().code) {
                case Errc::unavailable:
                case Errc::stopped:
                    call.result.end_array();
                    return {};
                case Errc::invalid_argument:
                    return rpc_fail(RpcCode::misc_error, "CreateNewBlock: " + block.error().context);
                case Errc::corrupt:
                    return rpc_fail(RpcCode::internal_error, block.error().context);
                default:
                    return rpc_fail(block.error());
            }
        }
        request.max_tries -= block->missed_tries;
        call.result.string(block->hash.display_hex());
    }
    call.result.end_array();
    return {};
}

RpcOutcome generate_to_address(const RpcContext& context, const RpcCall& call) {
    const auto count = int_argument(call.arguments[0]);
    if (!count) return std::unexpected(count.error());
    const auto tries = tries_as_int(call);
    if (!tries) return std::unexpected(tries.error());
    const auto script = address_to_script(call.arguments[1].text(), *context.params);
    if (!script) return rpc_fail(RpcCode::invalid_address_or_key, "Error: Invalid address");
    return mine_blocks(context, call, *count, *tries, *script);
}

RpcOutcome generate_to_descriptor(const RpcContext& context, const RpcCall& call) {
    const auto count = int_argument(call.arguments[0]);
    if (!count) return std::unexpected(count.error());
    const auto tries = tries_as_unsigned(call);
    if (!tries) return std::unexpected(tries.error());
    const auto script = descriptor_to_script(call.arguments[1].text(), *context.params);
    if (!script) return rpc_fail(RpcCode::invalid_address_or_key, script.error().context);
    return mine_blocks(context, call, *count, *tries, *script);
}

std::expected<Script, RpcError> output_script(const RpcContext& context, std::string_view output) {
    auto from_descriptor = descriptor_to_script(output, *context.params);
    if (from_descriptor) return std::move(*from_descriptor);
    if (from_descriptor.error().code == Errc::unsupported) {
        return rpc_fail(RpcCode::invalid_address_or_key, from_descriptor.error().context);
    }
    auto from_address = address_to_script(output, *context.params);
    if (from_address) return std::move(*from_address);
    return rpc_fail(RpcCode::invalid_address_or_key, "Error: Invalid address or descriptor");
}

/// A transaction by its bytes, or by the txid that the mempool knows it by.
std::expected<SharedBytes, RpcError> listed_transaction(const RpcContext& context, JsonValue value) {
    const auto text = string_argument(value);
    if (!text) return std::unexpected(text.error());
    if (const auto txid = Txid::from_display_hex(*text)) {
        const auto row = context.mempool == nullptr ? std::nullopt : context.mempool->board().find(*txid);
        if (row) return row->transaction->raw();
        return rpc_fail(RpcCode::invalid_address_or_key,
                        fmt::format("Transaction {} not in mempool.", *text));
    }
    if (const auto raw = decode_hex(*text); raw && !raw->empty()) {
        ByteReader reader(*raw);
        if (TransactionView::parse(reader) && reader.remaining() == 0) return SharedBytes::copy_of(*raw);
    }
    return rpc_fail(
        RpcCode::deserialization_error,
        fmt::format("Transaction decode failed for {}. Make sure the tx has at least one input.", *text));
}

RpcOutcome generate_block(const RpcContext& context, const RpcCall& call) {
    const auto miner = miner_of(context);
    if (!miner) return std::unexpected(miner.error());
    auto script = output_script(context, call.arguments[0].text());
    if (!script) return std::unexpected(script.error());
    MineRequest request{.coinbase_script = std::move(*script), .max_tries = kDefaultTries};
    for (JsonValue::Cursor c(call.arguments[1]); !c.done(); c.next()) {
        auto transaction = listed_transaction(context, c.value());
        if (!transaction) return std::unexpected(transaction.error());
        request.transactions.push_back(std::move(*transaction));
    }
    request.submit = !call.arguments.has(2) || call.arguments[2].is_true();
    const auto block = (*miner)->mine(request);
    if (!block) {
        if (block.error().code == Errc::invalid_argument)
            return rpc_fail(RpcCode::verify_error, block.error().context);
        if (block.error().code == Errc::unavailable)
            return rpc_fail(RpcCode::misc_error, "Failed to make block.");
        if (block.error().code == Errc::corrupt)
            return rpc_fail(RpcCode::internal_error, block.error().context);
        return rpc_fail(block.error());
    }
    call.result.begin_object();
    call.result.member("hash", block->hash.display_hex());
    if (!request.submit) {
        call.result.key("hex");
        call.result.hex(block->raw.bytes());
    }
    call.result.end_object();
    return {};
}

constexpr std::string_view kHashesResult =
    "Result:\n"
    "[           (json array) hashes of the blocks made\n"
    "  \"hex\",    (string) hash of a block\n"
    "  ...\n"
    "]\n";

}  // namespace

void add_generating_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    const RpcArgument tries{.names = "maxtries",
                            .type = ArgumentType::number,
                            .required = false,
                            .fallback = "1000000",
                            .text = "hashes to try for all of the blocks"};
    methods.push_back({
        .category = "generating",
        .name = "generatetoaddress",
        .lane = Lane::chain,
        .arguments = {{.names = "nblocks", .type = ArgumentType::number, .text = "how many blocks"},
                      {.names = "address", .type = ArgumentType::string, .text = "who gets the new coins"},
                      tries},
        .description = "Makes blocks at once, paying an address.",
        .result = kHashesResult,
        .example = "11 \"bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080\"",
        .json_example = "11, \"bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080\"",
        .handler = [&context](const RpcCall& call) { return generate_to_address(context, call); },
    });
    methods.push_back({
        .category = "generating",
        .name = "generatetodescriptor",
        .lane = Lane::chain,
        .arguments = {{.names = "num_blocks", .type = ArgumentType::number, .text = "how many blocks"},
                      {.names = "descriptor",
                       .type = ArgumentType::string,
                       .text = "what the new coins are locked with"},
                      tries},
        .description = "Makes blocks at once, paying a descriptor.",
        .result = kHashesResult,
        .example = "11 \"raw(51)\"",
        .json_example = "11, \"raw(51)\"",
        .handler = [&context](const RpcCall& call) { return generate_to_descriptor(context, call); },
    });
    methods.push_back({
        .category = "generating",
        .name = "generateblock",
        .lane = Lane::chain,
        .arguments =
            {{.names = "output",
              .type = ArgumentType::string,
              .text = "address or descriptor that gets the new coins"},
             {.names = "transactions",
              .type = ArgumentType::array,
              .text = "transactions in their order: serialized in hexadecimal, or txids of the mempool",
              .element = "\"rawtx/txid\"",
              .details = "     [\n       \"rawtx/txid\",    (string) one transaction\n       ...\n     ]\n"},
             {.names = "submit",
              .type = ArgumentType::boolean,
              .required = false,
              .fallback = "true",
              .text = "whether to hand the block in, or only to answer with it"}},
        .description = "Makes one block of exactly these transactions.",
        .result =
            "Result:\n"
            "{                    (json object)\n"
            "  \"hash\" : \"hex\",    (string) hash of the block\n"
            "  \"hex\" : \"hex\"      (string, optional) the serialized block, when it was not handed in\n"
            "}\n",
        .example = "\"raw(51)\" '[]'",
        .json_example = "\"raw(51)\", []",
        .handler = [&context](const RpcCall& call) { return generate_block(context, call); },
    });
}

}  // namespace blockpub
