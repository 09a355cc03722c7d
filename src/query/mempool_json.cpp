// SPDX-License-Identifier: MIT
#include "query/mempool_json.hpp"

#include <algorithm>
#include <set>
#include <string>

namespace blockpub {

void write_amount(JsonWriter& out, std::string_view name, Amount amount) {
    out.key(name);
    out.amount(amount);
}

void write_entry(JsonWriter& out, const MempoolRowDetails& details) {
    const MempoolRow& row = details.row;
    out.begin_object();
    out.member("vsize", row.vsize);
    out.member("weight", std::uint64_t{row.transaction->weight()});
    out.member("time", row.time);
    out.member("height", row.height.value);
    out.member("descendantcount", row.descendants.count);
    out.member("descendantsize", row.descendants.vsize);
    out.member("ancestorcount", row.ancestors.count);
    out.member("ancestorsize", row.ancestors.vsize);
    out.member("wtxid", row.transaction->wtxid().display_hex());
    out.key("fees");
    out.begin_object();
    write_amount(out, "base", row.fee);
    write_amount(out, "modified", row.modified_fee);
    write_amount(out, "ancestor", row.ancestors.modified_fees);
    write_amount(out, "descendant", row.descendants.modified_fees);
    out.end_object();
    // bitcoind sorts what it depends on as text, and what spends it by bytes.
    std::set<std::string> depends;
    for (const Txid& parent : details.parents) depends.insert(parent.display_hex());
    out.key("depends");
    out.begin_array();
    for (const std::string& parent : depends) out.string(parent);
    out.end_array();
    out.key("spentby");
    out.begin_array();
    for (const Txid& child : details.children) out.string(child.display_hex());
    out.end_array();
    out.member("bip125-replaceable", details.replaceable);
    out.member("unbroadcast", row.unbroadcast);
    out.end_object();
}

void write_summary(JsonWriter& out, const MempoolSummary& summary) {
    out.begin_object();
    out.member("loaded", summary.loaded);
    out.member("size", summary.count);
    out.member("bytes", summary.vsize);
    out.member("usage", summary.memory);
    write_amount(out, "total_fee", summary.total_fee);
    out.member("maxmempool", summary.max_memory);
    write_amount(out, "mempoolminfee", std::max(summary.min_fee, summary.min_relay).per_kvb);
    write_amount(out, "minrelaytxfee", summary.min_relay.per_kvb);
    write_amount(out, "incrementalrelayfee", summary.incremental.per_kvb);
    out.member("unbroadcastcount", summary.unbroadcast);
    out.member("fullrbf", summary.full_replacement);
    out.end_object();
}

void write_effective_rate(JsonWriter& out, const TransactionOutcome& outcome) {
    write_amount(out, "effective-feerate", outcome.effective_rate.per_kvb);
    out.key("effective-includes");
    out.begin_array();
    for (const Wtxid& wtxid : outcome.judged_with) out.string(wtxid.display_hex());
    out.end_array();
}

std::unexpected<RpcError> mempool_failure(const Error& error) {
    if (error.code == Errc::stopped) return rpc_fail(RpcCode::client_not_connected, "Shutting down");
    return rpc_fail(error);
}

}  // namespace blockpub
