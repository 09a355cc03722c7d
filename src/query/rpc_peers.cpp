// SPDX-License-Identifier: MIT
#include "query/rpc_context.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

namespace blockpub {

namespace {

using ServiceName = std::pair<std::uint64_t, std::string_view>;
constexpr std::array<ServiceName, 6> kServiceNames{{{1, "NETWORK"},
                                                    {1 << 2, "BLOOM"},
                                                    {1 << 3, "WITNESS"},
                                                    {1 << 6, "COMPACT_FILTERS"},
                                                    {1 << 10, "NETWORK_LIMITED"},
                                                    {1 << 11, "P2P_V2"}}};
constexpr std::int64_t kUploadCycle = 24 * 60 * 60;

std::vector<PeerRow> rows_of(const RpcContext& context) {
    return context.peers == nullptr ? std::vector<PeerRow>() : context.peers->rows();
}

/// What a peer says of itself goes into a terminal sooner or later.
std::string plain_text(std::string_view text) {
    std::string plain;
    for (const char c : text) {
        const bool printable = c >= ' ' && c <= '~';
        plain += printable ? c : '?';
    }
    return plain;
}

std::string_view network_of(const PeerRow& row) {
    if (!row.routable) return "not_publicly_routable";
    return row.v6 ? "ipv6" : "ipv4";
}

void write_services(JsonWriter& out, std::uint64_t services) {
    out.member("services", std::string_view(fmt::format("{:016x}", services)));
    out.key("servicesnames");
    out.begin_array();
    for (const auto& [bit, name] : kServiceNames) {
        if ((services & bit) != 0) out.string(name);
    }
    out.end_array();
}

void write_time(JsonWriter& out, std::string_view name, std::optional<std::chrono::microseconds> time) {
    if (time) out.member(name, std::chrono::duration<double>(*time).count());
}

void write_counts(JsonWriter& out, std::string_view name, const PeerRow::Counts& counts) {
    out.key(name);
    out.begin_object();
    for (const auto& [message, bytes] : counts) out.member(message, bytes);
    out.end_object();
}

void write_connection(JsonWriter& out, const PeerRow& row) {
    out.member("id", row.number);
    out.member("addr", std::string_view(row.address));
    out.member("addrbind", std::string_view(row.local_address));
    out.member("network", network_of(row));
    write_services(out, row.services);
    out.member("relaytxes", row.relays_transactions);
    out.member("lastsend", row.last_sent);
    out.member("lastrecv", row.last_received);
    out.member("last_transaction", row.last_transaction);
    out.member("last_block", row.last_block);
    out.member("bytessent", row.bytes_sent);
    out.member("bytesrecv", row.bytes_received);
    out.member("conntime", row.connected_at);
    out.member("timeoffset", row.time_offset);
    write_time(out, "pingtime", row.ping);
    write_time(out, "minping", row.least_ping);
    write_time(out, "pingwait", row.ping_under_way);
}

void write_peer(JsonWriter& out, const PeerRow& row) {
    out.begin_object();
    write_connection(out, row);
    out.member("version", row.protocol);
    out.member("subver", std::string_view(plain_text(row.user_agent)));
    out.member("inbound", row.inbound);
    out.member("bip152_hb_to", row.compact_to);
    out.member("bip152_hb_from", row.compact_from);
    out.member("startingheight", row.start_height);
    out.member("presynced_headers", row.presynced_headers);
    out.member("synced_headers", row.synced_headers);
    out.member("synced_blocks", row.synced_blocks);
    out.key("inflight");
    out.begin_array();
    for (const std::uint32_t height : row.in_flight) out.integer(height);
    out.end_array();
    out.member("addr_relay_enabled", false);
    out.member("addr_processed", std::int64_t{0});
    out.member("addr_rate_limited", std::int64_t{0});
    out.key("permissions");
    out.begin_array();
    for (const std::string& name : row.permissions) out.string(name);
    out.end_array();
    out.key("minfeefilter");
    out.amount(row.fee_filter);
    write_counts(out, "bytessent_per_msg", row.sent_by_message);
    write_counts(out, "bytesrecv_per_msg", row.received_by_message);
    out.member("connection_type", row.inbound ? "inbound" : "manual");
    out.member("transport_protocol_type", "v1");
    out.member("session_id", "");
    out.end_object();
}

RpcOutcome get_peer_info(const RpcContext& context, const RpcCall& call) {
    call.result.begin_array();
    for (const PeerRow& row : rows_of(context)) write_peer(call.result, row);
    call.result.end_array();
    return {};
}

RpcOutcome get_net_totals(const RpcContext& context, const RpcCall& call) {
    const PeerList::Totals totals = context.peers == nullptr ? PeerList::Totals() : context.peers->totals();
    const PeerList::Upload upload = context.peers == nullptr ? PeerList::Upload() : context.peers->upload();
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    JsonWriter& out = call.result;
    out.begin_object();
    out.member("totalbytesrecv", totals.bytes_received);
    out.member("totalbytessent", totals.bytes_sent);
    out.member("timemillis",
               std::int64_t{std::chrono::duration_cast<std::chrono::milliseconds>(now).count()});
    out.key("uploadtarget");
    out.begin_object();
    out.member("timeframe", kUploadCycle);
    out.member("target", upload.target);
    out.member("target_reached", upload.reached);
    out.member("serve_historical_blocks", upload.serves_history);
    out.member("bytes_left_in_cycle", upload.bytes_left);
    out.member("time_left_in_cycle", upload.time_left);
    out.end_object();
    out.end_object();
    return {};
}

constexpr std::string_view kPeerInfoResult =
    "Result:\n"
    "[                                          (json array)\n"
    "  {                                        (json object)\n"
    "    \"id\" : n,                              (numeric) number of the peer\n"
    "    \"addr\" : \"str\",                        (string) where it was called, or came from\n"
    "    \"addrbind\" : \"str\",                    (string) our side of the connection\n"
    "    \"network\" : \"str\",                     (string) ipv4, ipv6 or not_publicly_routable\n"
    "    \"services\" : \"hex\",                    (string) its services, as bits\n"
    "    \"servicesnames\" : [ \"str\", ... ],      (json array) and by name\n"
    "    \"lastsend\" : n,                        (numeric) when something was sent last, as Unix time\n"
    "    \"lastrecv\" : n,                        (numeric) when something came last\n"
    "    \"last_block\" : n,                      (numeric) when a block came last\n"
    "    \"bytessent\" : n,                       (numeric) bytes sent in this session\n"
    "    \"bytesrecv\" : n,                       (numeric) bytes received in it\n"
    "    \"conntime\" : n,                        (numeric) when it was connected\n"
    "    \"timeoffset\" : n,                      (numeric) its clock against ours, in seconds\n"
    "    \"pingtime\" : n,                        (numeric, optional) the last ping, in seconds\n"
    "    \"minping\" : n,                         (numeric, optional) the shortest\n"
    "    \"pingwait\" : n,                        (numeric, optional) how long one is under way\n"
    "    \"version\" : n,                         (numeric) version of the protocol\n"
    "    \"subver\" : \"str\",                      (string) its name\n"
    "    \"startingheight\" : n,                  (numeric) its height when it was connected\n"
    "    \"presynced_headers\" : n,               (numeric) headers looked at, not kept yet; -1 for none\n"
    "    \"synced_headers\" : n,                  (numeric) height of its last header that is here\n"
    "    \"synced_blocks\" : n,                   (numeric) height of its last block that is here\n"
    "    \"inflight\" : [ n, ... ],               (json array) heights of blocks that it was asked for\n"
    "    \"inbound\" : true|false,             (boolean) whether it came, and is served\n"
    "    \"relaytxes\" : true|false,           (boolean) whether it is told of transactions\n"
    "    \"permissions\" : [ \"str\", ... ],     (json array) what -whitelist and -whitebind give it\n"
    "    \"minfeefilter\" : n,                    (numeric) least fee rate that it wants, in BTC/kvB\n"
    "    \"bytessent_per_msg\" : { ... },         (json object) bytes by message\n"
    "    \"bytesrecv_per_msg\" : { ... },         (json object) likewise\n"
    "    \"connection_type\" : \"str\",             (string) manual (it was called) or inbound\n"
    "    \"transport_protocol_type\" : \"str\"      (string) v1\n"
    "  },                                       and bitcoind's other keys, without meaning here\n"
    "  ...\n"
    "]\n";

}  // namespace

void add_peer_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    methods.push_back({
        .category = "network",
        .name = "getconnectioncount",
        .description = "How many peers there are.",
        .result = "Result:\nn    (numeric) connections to other nodes\n",
        .handler = [&context](const RpcCall& call) -> RpcOutcome {
            call.result.integer(static_cast<std::int64_t>(rows_of(context).size()));
            return {};
        },
    });
    methods.push_back({
        .category = "network",
        .name = "getnettotals",
        .description = "Bytes to and from peers since the start.",
        .result = "Result:\n"
                  "{                              (json object)\n"
                  "  \"totalbytesrecv\" : n,        (numeric) bytes received\n"
                  "  \"totalbytessent\" : n,        (numeric) bytes sent\n"
                  "  \"timemillis\" : n,            (numeric) the time, in milliseconds since 1970\n"
                  "  \"uploadtarget\" : { ... }     (json object) -maxuploadtarget, and what it leaves "
                  "to blocks of long ago\n"
                  "}\n",
        .handler = [&context](const RpcCall& call) { return get_net_totals(context, call); },
    });
    methods.push_back({
        .category = "network",
        .name = "getpeerinfo",
        .description = "The peers, one object each, as of a second ago at most.",
        .result = kPeerInfoResult,
        .handler = [&context](const RpcCall& call) { return get_peer_info(context, call); },
    });
}

}  // namespace blockpub
