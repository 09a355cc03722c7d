// SPDX-License-Identifier: MIT
#include "base/hex.hpp"
#include "chain/mempool_service.hpp"
#include "chain/standardness.hpp"
#include "query/mempool_json.hpp"
#include "query/rpc_amount.hpp"
#include "query/rpc_context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

// sendrawtransaction, testmempoolaccept, submitpackage. Source: Bitcoin Core v28.1 src/rpc/mempool.cpp;
// src/node/transaction.cpp, BroadcastTransaction.

namespace blockpub {

namespace {

constexpr FeeRate kDefaultMaxRate{kCoin / 10};
constexpr std::size_t kMaxPackageCount = 25;

constexpr std::string_view kNoScripts =
    "\nScripts and signatures are not run here: whether those are right is for the node to say that takes "
    "the transaction next.\n";

std::optional<TransactionRef> decode_transaction(std::string_view hex) {
    if (!is_hex(hex)) return std::nullopt;
    const auto bytes = decode_hex(hex);
    if (!bytes) return std::nullopt;
    auto transaction = MempoolTransaction::decode(SharedBytes::copy_of(*bytes));
    if (!transaction) return std::nullopt;
    return std::move(*transaction);
}

bool burns_more_than(const MempoolTransaction& transaction, Amount most) {
    bool burns = false;
    transaction.view().for_each_output([&](std::size_t, const TxOutput& output) {
        burns = output.amount > most && is_burnt(output.script);
        return !burns;
    });
    return burns;
}

std::unexpected<RpcError> burns_too_much() {
    return rpc_fail(RpcCode::transaction_error,
                    "Unspendable output exceeds maximum configured by user (maxburnamount)");
}

std::expected<Amount, RpcError> max_burn(const RpcCall& call, std::size_t position) {
    if (!call.arguments.has(position)) return 0;
    return amount_argument(call.arguments[position]);
}

std::expected<FeeRate, RpcError> max_rate(const RpcCall& call) {
    if (!call.arguments.has(1)) return kDefaultMaxRate;
    return fee_rate_argument(call.arguments[1]);
}

/// Core's error for what became of a transaction, if it is one.
RpcOutcome sent(const SendOutcome& outcome) {
    switch (outcome.kind) {
        case SendOutcome::Kind::sent:
            return {};
        case SendOutcome::Kind::confirmed:
            return rpc_fail(RpcCode::transaction_already_confirmed,
                            "Transaction outputs already in utxo set");
        case SendOutcome::Kind::fee_too_high:
            return rpc_fail(RpcCode::transaction_error,
                            "Fee exceeds maximum configured by user (e.g. -maxtxfee, maxfeerate)");
        case SendOutcome::Kind::refused:
            break;
    }
    const bool missing = outcome.refusal.kind == TransactionRefusal::Kind::missing_inputs;
    return rpc_fail(missing ? RpcCode::transaction_error : RpcCode::transaction_rejected,
                    outcome.refusal.text());
}

bool is_following(const RpcContext& context) {
    return context.sender != nullptr && context.sender->is_following();
}

/// Whether what it spends may come from a transaction that the nodes have been given just now.
bool spends_what_is_on_its_way(const RpcContext& context, const MempoolTransaction& transaction) {
    return std::ranges::any_of(transaction.spends(), [&](const Outpoint& outpoint) {
        return context.sender->is_on_its_way(outpoint.txid);
    });
}

/// Gives a transaction to the nodes that are followed, if all rules but scripts are kept: those are theirs to
/// run, and the mempool takes it from them.
RpcOutcome hand_out(const RpcContext& context, const TransactionRef& transaction,
                    std::optional<Amount> max_fee) {
    const auto tested = context.mempool->test_send(transaction, max_fee);
    if (!tested) return mempool_failure(tested.error());
    const bool waits = tested->kind == SendOutcome::Kind::refused &&
                       tested->refusal.kind == TransactionRefusal::Kind::missing_inputs &&
                       spends_what_is_on_its_way(context, *transaction);
    if (!waits) {
        if (auto refused = sent(*tested); !refused) return refused;
        if (context.mempool->board().find(transaction->txid())) return {};
    }
    if (auto given = context.sender->hand_out(transaction); !given) {
        return rpc_fail(RpcCode::client_not_connected,
                        fmt::format("The transaction was not sent: {}", given.error().context));
    }
    return {};
}

RpcOutcome send_raw_transaction(const RpcContext& context, const RpcCall& call) {
    const auto burn = max_burn(call, 2);
    if (!burn) return std::unexpected(burn.error());
    const auto transaction = decode_transaction(call.arguments[0].text());
    if (!transaction) {
        return rpc_fail(RpcCode::deserialization_error,
                        "TX decode failed. Make sure the tx has at least one input.");
    }
    if (burns_more_than(**transaction, *burn)) return burns_too_much();
    const auto rate = max_rate(call);
    if (!rate) return std::unexpected(rate.error());
    const Amount fee = rate->fee_for(static_cast<std::int64_t>((*transaction)->view().vsize()));
    const auto max_fee = fee == 0 ? std::nullopt : std::optional<Amount>(fee);
    if (is_following(context)) {
        if (auto given = hand_out(context, *transaction, max_fee); !given) return given;
    } else {
        const auto outcome = context.mempool->send(*transaction, max_fee);
        if (!outcome) return mempool_failure(outcome.error());
        if (auto refused = sent(*outcome); !refused) return refused;
    }
    call.result.string((*transaction)->txid().display_hex());
    return {};
}

/// Errors: Core's, for a list of too few or too many.
RpcOutcome check_count(JsonValue list, std::size_t fewest) {
    if (list.size() >= fewest && list.size() <= kMaxPackageCount) return {};
    return rpc_fail(
        RpcCode::invalid_parameter,
        fmt::format("Array must contain between {} and {} transactions.", fewest, kMaxPackageCount));
}

/// The transactions of a list. Errors: Core's, for their bytes.
std::expected<std::vector<TransactionRef>, RpcError> transaction_list(JsonValue list) {
    std::vector<TransactionRef> transactions;
    for (JsonValue::Cursor c(list); !c.done(); c.next()) {
        const auto text = string_argument(c.value());
        if (!text) return std::unexpected(text.error());
        const auto transaction = decode_transaction(*text);
        if (!transaction) {
            return rpc_fail(
                RpcCode::deserialization_error,
                fmt::format("TX decode failed: {} Make sure the tx has at least one input.", *text));
        }
        transactions.push_back(*transaction);
    }
    return transactions;
}

/// Writes the verdict on one transaction. Result: false when nothing can be said of those behind it.
bool write_test(JsonWriter& out, const TransactionOutcome& outcome, FeeRate most) {
    if (!outcome.accepted()) {
        const bool missing = outcome.refusal.kind == TransactionRefusal::Kind::missing_inputs;
        out.member("allowed", false);
        out.member("reject-reason", missing ? "missing-inputs" : std::string_view(outcome.refusal.reason));
        return true;
    }
    const Amount most_fee = most.fee_for(outcome.vsize);
    if (most_fee != 0 && outcome.fee > most_fee) {
        out.member("allowed", false);
        out.member("reject-reason", "max-fee-exceeded");
        return false;
    }
    out.member("allowed", true);
    out.member("vsize", outcome.vsize);
    out.key("fees");
    out.begin_object();
    write_amount(out, "base", outcome.fee);
    write_effective_rate(out, outcome);
    out.end_object();
    return true;
}

RpcOutcome test_mempool_accept(const RpcContext& context, const RpcCall& call) {
    if (auto counted = check_count(call.arguments[0], 1); !counted) return counted;
    const auto rate = max_rate(call);
    if (!rate) return std::unexpected(rate.error());
    const auto transactions = transaction_list(call.arguments[0]);
    if (!transactions) return std::unexpected(transactions.error());
    const auto tested = context.mempool->test(*transactions);
    if (!tested) return mempool_failure(tested.error());
    bool go_on = true;
    call.result.begin_array();
    for (const TransactionRef& transaction : *transactions) {
        call.result.begin_object();
        call.result.member("txid", transaction->txid().display_hex());
        call.result.member("wtxid", transaction->wtxid().display_hex());
        if (tested->state == PackageOutcome::State::policy)
            call.result.member("package-error", tested->text());
        const auto outcome = tested->outcomes.find(transaction->wtxid());
        if (go_on && outcome != tested->outcomes.end())
            go_on = write_test(call.result, outcome->second, *rate);
        call.result.end_object();
    }
    call.result.end_array();
    return {};
}

void write_submitted(JsonWriter& out, const MempoolTransaction& transaction,
                     const TransactionOutcome& outcome) {
    using Kind = TransactionOutcome::Kind;
    out.key(transaction.wtxid().display_hex());
    out.begin_object();
    out.member("txid", transaction.txid().display_hex());
    if (outcome.kind == Kind::different_witness) {
        out.member("other-wtxid", outcome.other_wtxid.display_hex());
    } else if (outcome.kind == Kind::refused) {
        out.member("error", outcome.refusal.text());
    } else {
        out.member("vsize", outcome.vsize);
        out.key("fees");
        out.begin_object();
        write_amount(out, "base", outcome.fee);
        if (outcome.accepted()) write_effective_rate(out, outcome);
        out.end_object();
    }
    out.end_object();
}

void write_package(JsonWriter& out, const std::vector<TransactionRef>& package,
                   const PackageOutcome& outcome) {
    std::set<Txid> replaced;
    out.begin_object();
    out.member("package_msg", outcome.state == PackageOutcome::State::ok ? "success" : outcome.text());
    out.key("tx-results");
    out.begin_object();
    for (const TransactionRef& transaction : package) {
        const auto found = outcome.outcomes.find(transaction->wtxid());
        if (found == outcome.outcomes.end()) continue;
        write_submitted(out, *transaction, found->second);
        replaced.insert(found->second.replaced.begin(), found->second.replaced.end());
    }
    out.end_object();
    out.key("replaced-transactions");
    out.begin_array();
    for (const Txid& txid : replaced) out.string(txid.display_hex());
    out.end_array();
    out.end_object();
}

RpcOutcome submit_package(const RpcContext& context, const RpcCall& call) {
    if (auto counted = check_count(call.arguments[0], 2); !counted) return counted;
    const auto rate = max_rate(call);
    if (!rate) return std::unexpected(rate.error());
    const auto burn = max_burn(call, 2);
    if (!burn) return std::unexpected(burn.error());
    const auto package = transaction_list(call.arguments[0]);
    if (!package) return std::unexpected(package.error());
    for (const TransactionRef& transaction : *package) {
        if (burns_more_than(*transaction, *burn)) return burns_too_much();
    }
    if (is_following(context)) {
        return rpc_fail(
            RpcCode::misc_error,
            "Nodes are followed, and take transactions one by one: use sendrawtransaction, or give "
            "-upstreamrpc=<node>");
    }
    if (!is_child_with_parents_tree(*package)) {
        return rpc_fail(
            RpcCode::transaction_error,
            "package topology disallowed. not child-with-parents or parents depend on each other.");
    }
    const bool any_rate = rate->per_kvb == 0;
    const auto outcome =
        context.mempool->submit_package(*package, any_rate ? std::nullopt : std::optional<FeeRate>(*rate));
    if (!outcome) return mempool_failure(outcome.error());
    write_package(call.result, *package, *outcome);
    return {};
}

RpcArgument max_rate_argument() {
    return {.names = "maxfeerate",
            .type = ArgumentType::amount,
            .required = false,
            .fallback = "\"0.10\"",
            .text = "the highest fee rate that is meant, in BTC/kvB, below 1; 0 for any",
            .checked = false};
}

RpcArgument max_burn_argument() {
    return {.names = "maxburnamount",
            .type = ArgumentType::amount,
            .required = false,
            .fallback = "\"0.00\"",
            .text = "the highest amount that is meant for an output that nobody can spend, in BTC",
            .checked = false};
}

}  // namespace

void add_sending_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    if (context.mempool == nullptr) return;
    static const std::string kSend =
        fmt::format("Hands in a transaction: into the mempool, and from there to peers.\n{}", kNoScripts);
    static const std::string kTest = fmt::format(
        "Tells whether transactions would enter the mempool, without letting them in. Several are taken as a "
        "package: parents first,\nand none may conflict with the mempool or with one another.\n{}",
        kNoScripts);
    static const std::string kPackage = fmt::format(
        "Hands in a child, the last in the list, with its unconfirmed parents: the child may pay for "
        "parents.\n{}",
        kNoScripts);
    methods.push_back({
        .category = "rawtransactions",
        .name = "sendrawtransaction",
        .lane = Lane::chain,
        .arguments = {{.names = "hexstring",
                       .type = ArgumentType::hex,
                       .text = "the serialized transaction in hexadecimal"},
                      max_rate_argument(),
                      max_burn_argument()},
        .description = kSend,
        .result = "Result:\n\"hex\"    (string) the transaction's id\n",
        .example = "\"signedhex\"",
        .json_example = "\"signedhex\"",
        .handler = [&context](const RpcCall& call) { return send_raw_transaction(context, call); },
    });
    methods.push_back({
        .category = "rawtransactions",
        .name = "testmempoolaccept",
        .lane = Lane::chain,
        .arguments = {{.names = "rawtxs",
                       .type = ArgumentType::array,
                       .text = "serialized transactions in hexadecimal, at most 25",
                       .element = "\"rawtx\"",
                       .details = "     [\n       \"rawtx\",    (string)\n       ...\n     ]\n"},
                      max_rate_argument()},
        .description = kTest,
        .result =
            "Result:\n"
            "[                                       (json array) in the order of the argument\n"
            "  {                                     (json object)\n"
            "    \"txid\" : \"hex\",                     (string) the transaction's id\n"
            "    \"wtxid\" : \"hex\",                    (string) its hash with the witness\n"
            "    \"package-error\" : \"str\",            (string, optional) why the package as such is "
            "refused\n"
            "    \"allowed\" : bool,                   (boolean, optional) whether it would enter; left out "
            "when "
            "it was not looked at to the end\n"
            "    \"vsize\" : n,                        (numeric, optional) virtual size, if it would\n"
            "    \"fees\" : {                          (json object, optional) if it would\n"
            "      \"base\" : n,                       (numeric) its fee in BTC\n"
            "      \"effective-feerate\" : n,          (numeric) the rate by which it was judged, BTC/kvB\n"
            "      \"effective-includes\" : [          (json array) whose fees and sizes that rate is made "
            "of\n"
            "        \"hex\",                          (string) a wtxid\n"
            "        ...\n"
            "      ]\n"
            "    },\n"
            "    \"reject-reason\" : \"str\"             (string, optional) why not\n"
            "  },\n"
            "  ...\n"
            "]\n",
        .example = "'[\"signedhex\"]'",
        .json_example = "[\"signedhex\"]",
        .handler = [&context](const RpcCall& call) { return test_mempool_accept(context, call); },
    });
    methods.push_back({
        .category = "rawtransactions",
        .name = "submitpackage",
        .lane = Lane::chain,
        .arguments = {{.names = "package",
                       .type = ArgumentType::array,
                       .text =
                           "serialized transactions in hexadecimal, 2 to 25, the child last; no parent may "
                           "spend from another",
                       .element = "\"rawtx\"",
                       .details = "     [\n       \"rawtx\",    (string)\n       ...\n     ]\n"},
                      max_rate_argument(),
                      max_burn_argument()},
        .description = kPackage,
        .result =
            "Result:\n"
            "{                                       (json object)\n"
            "  \"package_msg\" : \"str\",                (string) success, or why not all of it was taken\n"
            "  \"tx-results\" : {                      (json object) by wtxid\n"
            "    \"wtxid\" : {                         (json object)\n"
            "      \"txid\" : \"hex\",                   (string) the transaction's id\n"
            "      \"other-wtxid\" : \"hex\",            (string, optional) the one that is in the mempool "
            "in its "
            "place\n"
            "      \"vsize\" : n,                      (numeric, optional) virtual size\n"
            "      \"fees\" : {...},                   (json object, optional) as in testmempoolaccept\n"
            "      \"error\" : \"str\"                   (string, optional) why it was refused\n"
            "    },\n"
            "    ...\n"
            "  },\n"
            "  \"replaced-transactions\" : [\"hex\", ...]    (json array) ids of what had to leave\n"
            "}\n",
        .example = "'[\"rawtx1\", \"rawtx2\"]'",
        .json_example = "[\"rawtx1\", \"rawtx2\"]",
        .handler = [&context](const RpcCall& call) { return submit_package(context, call); },
    });
}

}  // namespace blockpub
