// SPDX-License-Identifier: MIT
#include "chain/mempool_service.hpp"
#include "query/mempool_json.hpp"
#include "query/rpc_context.hpp"

#include <charconv>
#include <string_view>
#include <system_error>

// prioritisetransaction, getprioritisedtransactions. Source: Bitcoin Core v28.1 src/rpc/mining.cpp.

namespace blockpub {

namespace {

std::expected<double, RpcError> real_argument(JsonValue value) {
    const std::string_view digits = value.text();
    double real = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), real);
    if (error != std::errc() || end != digits.data() + digits.size())
        return rpc_fail(RpcCode::misc_error, "JSON double out of range");
    return real;
}

RpcOutcome prioritise_transaction(const RpcContext& context, const RpcCall& call) {
    const auto txid = hash_argument<Txid>(call.arguments[0], "txid");
    if (!txid) return std::unexpected(txid.error());
    const auto dummy = call.arguments.has(1) ? real_argument(call.arguments[1]) : 0.0;
    if (!dummy) return std::unexpected(dummy.error());
    const auto delta = integer_argument(call.arguments[2]);
    if (!delta) return std::unexpected(delta.error());
    if (*dummy != 0) {
        return rpc_fail(
            RpcCode::invalid_parameter,
            "Priority is no longer supported, dummy argument to prioritisetransaction must be 0.");
    }
    const auto done = context.mempool->prioritise(*txid, *delta);
    if (!done) return mempool_failure(done.error());
    call.result.boolean(true);
    return {};
}

RpcOutcome get_prioritised_transactions(const RpcContext& context, const RpcCall& call) {
    JsonWriter& out = call.result;
    out.begin_object();
    for (const PrioritisedTransaction& prioritised : context.mempool->board().prioritised()) {
        out.key(prioritised.txid.display_hex());
        out.begin_object();
        out.member("fee_delta", prioritised.delta);
        out.member("in_mempool", prioritised.modified_fee.has_value());
        if (prioritised.modified_fee) out.member("modified_fee", *prioritised.modified_fee);
        out.end_object();
    }
    out.end_object();
    return {};
}

}  // namespace

void add_prioritising_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    if (context.mempool == nullptr) return;
    methods.push_back({
        .category = "mining",
        .name = "getprioritisedtransactions",
        .description = "The transactions whose fee prioritisetransaction has changed, in the mempool or not.",
        .result =
            "Result:\n"
            "{                            (json object)\n"
            "  \"txid\" : {                 (json object)\n"
            "    \"fee_delta\" : n,         (numeric) what is added to its fee, in satoshi\n"
            "    \"in_mempool\" : bool,     (boolean) whether it is in the mempool\n"
            "    \"modified_fee\" : n       (numeric, optional) the fee that counts, in satoshi; left out "
            "when it is not in the mempool\n"
            "  },\n"
            "  ...\n"
            "}\n",
        .handler = [&context](const RpcCall& call) { return get_prioritised_transactions(context, call); },
        .large_reply = true,
    });
    methods.push_back({
        .category = "mining",
        .name = "prioritisetransaction",
        .lane = Lane::chain,
        .arguments = {{.names = "txid",
                       .type = ArgumentType::hex,
                       .text = "the transaction's id; it may come into the mempool later"},
                      {.names = "dummy",
                       .type = ArgumentType::number,
                       .required = false,
                       .text = "0 or null: there once was a priority here"},
                      {.names = "fee_delta",
                       .type = ArgumentType::number,
                       .text = "what to add to its fee, in satoshi; a negative number takes away"}},
        .description =
            "Counts a transaction's fee for more, or less, than it is: when it comes in, when others replace "
            "it, and when room is made.\nWhat is added more than once adds up. Nobody pays it, and a block "
            "that has the transaction ends it.",
        .result = "Result:\ntrue    (boolean)\n",
        .example = "\"f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16\" 0.0 10000",
        .json_example = "\"f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16\", 0.0, 10000",
        .handler = [&context](const RpcCall& call) { return prioritise_transaction(context, call); },
    });
}

}  // namespace blockpub
