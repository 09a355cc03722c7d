// SPDX-License-Identifier: MIT
#include "chain/mempool_service.hpp"
#include "primitives/fee_rate.hpp"
#include "query/rpc_context.hpp"
#include "query/rpc_warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace blockpub {

namespace {

// What clients look for to tell which node they talk to: release 28.1, whose answers these are.
constexpr int kCoreVersion = 280100;
constexpr std::string_view kCoreSubversion = "/Satoshi:28.1.0/";
constexpr int kProtocolVersion = 70016;
constexpr FeeRate kRelayFee{1000};  // without a mempool, whose options say otherwise

struct NetworkRow {
    std::string_view name;
    bool reachable;
};
constexpr std::array<NetworkRow, 5> kNetworks{{
    {"ipv4", true},
    {"ipv6", true},
    {"onion", false},
    {"i2p", false},
    {"cjdns", false},
}};

void write_networks(JsonWriter& out) {
    out.key("networks");
    out.begin_array();
    for (const NetworkRow& network : kNetworks) {
        out.begin_object();
        out.member("name", network.name);
        out.member("limited", !network.reachable);
        out.member("reachable", network.reachable);
        out.member("proxy", "");
        out.member("proxy_randomize_credentials", false);
        out.end_object();
    }
    out.end_array();
}

/// Those that were named; of a listener on every address there is no telling which one peers know.
void write_local_addresses(JsonWriter& out, const RpcContext& context) {
    constexpr int kBoundScore = 2;  // as bitcoind values what it was told to bind to
    out.key("localaddresses");
    out.begin_array();
    if (context.peers != nullptr) {
        for (const PeerList::Listening& listening : context.peers->listening()) {
            out.begin_object();
            out.member("address", std::string_view(listening.address));
            out.member("port", listening.port);
            out.member("score", kBoundScore);
            out.end_object();
        }
    }
    out.end_array();
}

RpcOutcome get_network_info(const RpcContext& context, const RpcCall& call) {
    JsonWriter& out = call.result;
    out.begin_object();
    out.member("version", kCoreVersion);
    out.member("subversion", kCoreSubversion);
    out.member("protocolversion", kProtocolVersion);
    // Blocks with witness: all of them, or only the newest.
    const bool whole = context.prune.mode == PruneOptions::Mode::off && !context.chain->status().pruned_to;
    out.member("localservices", whole ? "0000000000000409" : "0000000000000408");
    out.key("localservicesnames");
    out.begin_array();
    if (whole) out.string("NETWORK");
    for (const std::string_view name : {"WITNESS", "NETWORK_LIMITED"}) out.string(name);
    out.end_array();
    out.member("localrelay", true);
    out.member("timeoffset", 0);
    out.member("networkactive", context.peer_control == nullptr || context.peer_control->active());
    const std::vector<PeerRow> peers =
        context.peers == nullptr ? std::vector<PeerRow>() : context.peers->rows();
    const auto inbound = static_cast<std::uint64_t>(std::ranges::count_if(peers, &PeerRow::inbound));
    out.member("connections", std::uint64_t{peers.size()});
    out.member("connections_in", inbound);
    out.member("connections_out", peers.size() - inbound);
    write_networks(out);
    FeeRate relay = kRelayFee;
    FeeRate incremental = kRelayFee;
    if (context.mempool != nullptr) {
        const MempoolSummary summary = context.mempool->board().summary();
        relay = summary.min_relay;
        incremental = summary.incremental;
    }
    out.key("relayfee");
    out.amount(relay.per_kvb);
    out.key("incrementalfee");
    out.amount(incremental.per_kvb);
    write_local_addresses(out, context);
    write_warnings(out, context);
    out.member("blockpub", std::string_view(context.version));
    out.end_object();
    return {};
}

RpcOutcome empty_list(const RpcCall& call) {
    call.result.begin_array();
    call.result.end_array();
    return {};
}

RpcOutcome get_node_addresses(const RpcCall& call) {
    const auto count = call.arguments.has(0) ? int_argument(call.arguments[0]) : 1;
    if (!count) return std::unexpected(count.error());
    if (*count < 0) return rpc_fail(RpcCode::invalid_parameter, "Address count out of range");
    if (call.arguments.has(1)) {
        const std::string_view name = call.arguments[1].text();
        if (std::ranges::find(kNetworks, name, &NetworkRow::name) == kNetworks.end())
            return rpc_fail(RpcCode::invalid_parameter, fmt::format("Network not recognized: {}", name));
    }
    return empty_list(call);
}

}  // namespace

void add_network_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    add_peer_methods(methods, context);
    add_peer_control_methods(methods, context);
    add_ban_methods(methods, context);
    methods.push_back({
        .category = "network",
        .name = "getnetworkinfo",
        .description =
            "The node as it shows itself: bitcoind's version, since its answers are bitcoind's, and a key "
            "that says what it is.",
        .result =
            "Result:\n"
            "{                                         (json object)\n"
            "  \"version\" : n,                          (numeric) release of bitcoind whose interface this "
            "is\n"
            "  \"subversion\" : \"str\",                   (string) its name as peers see it\n"
            "  \"protocolversion\" : n,                  (numeric) version of the protocol\n"
            "  \"localservices\" : \"hex\",                (string) services, as bits\n"
            "  \"localservicesnames\" : [                (json array) and by name\n"
            "    \"str\",                                (string) name of a service\n"
            "    ...\n"
            "  ],\n"
            "  \"localrelay\" : true|false,              (boolean) true\n"
            "  \"timeoffset\" : n,                       (numeric) 0\n"
            "  \"networkactive\" : true|false,           (boolean) whether peers are called "
            "(setnetworkactive)\n"
            "  \"connections\" : n,                      (numeric) peers\n"
            "  \"connections_in\" : n,                   (numeric) those that came\n"
            "  \"connections_out\" : n,                  (numeric) those that were called\n"
            "  \"networks\" : [                          (json array)\n"
            "    {                                     (json object)\n"
            "      \"name\" : \"str\",                     (string) ipv4, ipv6, onion, i2p or cjdns\n"
            "      \"limited\" : true|false,             (boolean) not used\n"
            "      \"reachable\" : true|false,           (boolean) used\n"
            "      \"proxy\" : \"str\",                    (string) empty\n"
            "      \"proxy_randomize_credentials\" : true|false (boolean) false\n"
            "    },\n"
            "    ...\n"
            "  ],\n"
            "  \"relayfee\" : n,                         (numeric) least fee rate, in BTC for 1000 virtual "
            "bytes\n"
            "  \"incrementalfee\" : n,                   (numeric) least step between fee rates, likewise\n"
            "  \"localaddresses\" : [                    (json array) where peers can come to (-bind)\n"
            "    {                                     (json object)\n"
            "      \"address\" : \"str\",                  (string) an address\n"
            "      \"port\" : n,                         (numeric) its port\n"
            "      \"score\" : n                         (numeric) 2\n"
            "    },\n"
            "    ...\n"
            "  ],\n"
            "  \"warnings\" : [                          (json array) what an operator should look at\n"
            "    \"str\",                                (string) a sentence\n"
            "    ...\n"
            "  ],\n"
            "  \"blockpub\" : \"str\"                      (string) version of blockpub\n"
            "}\n",
        .handler = [&context](const RpcCall& call) { return get_network_info(context, call); },
    });
    methods.push_back({
        .category = "network",
        .name = "getnodeaddresses",
        .arguments = {{.names = "count",
                       .type = ArgumentType::number,
                       .required = false,
                       .fallback = "1",
                       .text = "how many at most; 0 for all"},
                      {.names = "network",
                       .type = ArgumentType::string,
                       .required = false,
                       .fallback = "all networks",
                       .text = "ipv4, ipv6, onion, i2p or cjdns"}},
        .description = "Addresses of other nodes. blockpub keeps none.",
        .result = "Result:\n[]    (json array) empty\n",
        .example = "8",
        .json_example = "8",
        .handler = [](const RpcCall& call) { return get_node_addresses(call); },
    });
}

}  // namespace blockpub
