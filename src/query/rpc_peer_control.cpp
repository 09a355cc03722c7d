// SPDX-License-Identifier: MIT
#include "chain/peer_control.hpp"
#include "query/rpc_context.hpp"
#include "query/rpc_dispatch.hpp"
#include "query/rpc_lookup.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

namespace {

using ControlHandler = RpcOutcome (*)(const RpcContext& context, PeerControl& peers, const RpcCall& call);

/// A handler for calls that steer the peers.
std::function<RpcOutcome(const RpcCall&)> steering(const RpcContext& context, ControlHandler handler) {
    return [&context, handler](const RpcCall& call) -> RpcOutcome {
        if (context.peer_control == nullptr) {
            return rpc_fail(RpcCode::client_p2p_disabled,
                            "Error: Peer-to-peer functionality missing or disabled");
        }
        return handler(context, *context.peer_control, call);
    };
}

RpcOutcome done(const RpcCall& call, const Result<void>& result) {
    if (!result) {
        const bool argument = result.error().code == Errc::invalid_argument;
        return rpc_fail(argument ? RpcCode::invalid_parameter : RpcCode::misc_error, result.error().context);
    }
    call.result.null();
    return {};
}

/// `refusal`: what false means.
RpcOutcome done(const RpcCall& call, const Result<bool>& result, RpcCode code, std::string_view refusal) {
    if (!result) return done(call, std::unexpected(result.error()));
    if (!*result) return rpc_fail(code, std::string(refusal));
    call.result.null();
    return {};
}

RpcOutcome add_node(const RpcContext&, PeerControl& peers, const RpcCall& call) {
    const std::string_view node = call.arguments[0].text();
    const std::string_view command = call.arguments[1].text();
    if (command != "add" && command != "remove" && command != "onetry")
        return rpc_fail(RpcCode::misc_error, help_page(*call.methods.find("addnode")));
    if (call.arguments[2].is_true()) {
        return rpc_fail(RpcCode::invalid_parameter,
                        "Error: v2transport requested but not enabled (see -v2transport)");
    }
    if (command == "onetry") return done(call, peers.try_node(node));
    if (command == "add") {
        return done(call, peers.add_node(node), RpcCode::client_node_already_added,
                    "Error: Node already added");
    }
    return done(call, peers.remove_node(node), RpcCode::client_node_not_added,
                "Error: Node could not be removed. It has not been added previously.");
}

RpcOutcome disconnect_node(const RpcContext&, PeerControl& peers, const RpcCall& call) {
    const JsonValue address = call.arguments[0];
    const JsonValue number = call.arguments[1];
    constexpr std::string_view kUnknown = "Node not found in connected nodes";
    if (!address.is_null() && number.is_null()) {
        return done(call, peers.disconnect(address.text()), RpcCode::client_node_not_connected, kUnknown);
    }
    if (number.is_null() || !address.text().empty())
        return rpc_fail(RpcCode::invalid_params, "Only one of address and nodeid should be provided.");
    const auto peer = integer_argument(number);
    if (!peer) return std::unexpected(peer.error());
    return done(call, peers.disconnect(*peer), RpcCode::client_node_not_connected, kUnknown);
}

void write_added_node(JsonWriter& out, const AddedNodeRow& row) {
    const bool connected = !row.address.empty();
    out.begin_object();
    out.member("addednode", std::string_view(row.node));
    out.member("connected", connected);
    out.key("addresses");
    out.begin_array();
    if (connected) {
        out.begin_object();
        out.member("address", std::string_view(row.address));
        out.member("connected", "outbound");
        out.end_object();
    }
    out.end_array();
    out.end_object();
}

RpcOutcome get_added_node_info(const RpcContext&, PeerControl& peers, const RpcCall& call) {
    const auto rows = peers.added_nodes();
    if (!rows) return rpc_fail(rows.error());
    JsonWriter& out = call.result;
    if (call.arguments.has(0)) {
        const auto row = std::ranges::find(*rows, call.arguments[0].text(), &AddedNodeRow::node);
        if (row == rows->end())
            return rpc_fail(RpcCode::client_node_not_added, "Error: Node has not been added.");
        out.begin_array();
        write_added_node(out, *row);
        out.end_array();
        return {};
    }
    out.begin_array();
    for (const AddedNodeRow& row : *rows) write_added_node(out, row);
    out.end_array();
    return {};
}

RpcOutcome set_network_active(const RpcContext&, PeerControl& peers, const RpcCall& call) {
    if (const auto set = peers.set_active(call.arguments[0].is_true()); !set) return rpc_fail(set.error());
    call.result.boolean(peers.active());
    return {};
}

RpcOutcome get_block_from_peer(const RpcContext& context, PeerControl& peers, const RpcCall& call) {
    const auto hash = hash_argument<BlockHash>(call.arguments[0], "blockhash");
    if (!hash) return std::unexpected(hash.error());
    const auto peer = integer_argument(call.arguments[1]);
    if (!peer) return std::unexpected(peer.error());
    const auto header = find_header(context, *hash);
    if (!header && header.error().code == RpcCode::invalid_address_or_key)
        return rpc_fail(RpcCode::misc_error, "Block header missing");
    if (!header) return std::unexpected(header.error());
    const HeaderRecord& record = header->record;
    if (context.prune.mode != PruneOptions::Mode::off && record.height > context.chain->status().tip.height) {
        return rpc_fail(RpcCode::misc_error,
                        "In prune mode, only blocks that the node has already synced previously can be "
                        "fetched from a peer");
    }
    if (record.block) return rpc_fail(RpcCode::misc_error, "Block already downloaded");
    if (const auto asked = peers.fetch_block(*hash, record.height, *peer); !asked)
        return rpc_fail(asked.error());
    call.result.begin_object();
    call.result.end_object();
    return {};
}

void add_node_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    methods.push_back({
        .category = "network",
        .name = "addnode",
        .lane = Lane::chain,
        .arguments = {{.names = "node",
                       .type = ArgumentType::string,
                       .text = "address of the node, with or without a port"},
                      {.names = "command",
                       .type = ArgumentType::string,
                       .text = "add: follow it, and call it again whenever the connection has ended; "
                               "remove: do not\n"
                               "               call it again; onetry: call it once"},
                      {.names = "v2transport",
                       .type = ArgumentType::boolean,
                       .required = false,
                       .fallback = "false",
                       .text = "only false: there is no encrypted transport"}},
        .description =
            "Adds a node to the list of nodes that are followed beside those of -connect, or takes "
            "it off.\nThe list lasts as long as the process.",
        .result = "Result:\nnull    (json null)\n",
        .example = "\"192.168.0.6:8333\" \"onetry\"",
        .json_example = "\"192.168.0.6:8333\", \"onetry\"",
        .handler = steering(context, add_node),
    });
    methods.push_back({
        .category = "network",
        .name = "getaddednodeinfo",
        .lane = Lane::chain,
        .arguments = {{.names = "node",
                       .type = ArgumentType::string,
                       .required = false,
                       .fallback = "all nodes",
                       .text = "one of them, as it was added"}},
        .description = "The nodes of addnode and -addnode. Nodes called once are not among them.",
        .result = "Result:\n"
                  "[                                (json array)\n"
                  "  {                              (json object)\n"
                  "    \"addednode\" : \"str\",         (string) the node, as it was added\n"
                  "    \"connected\" : true|false,    (boolean) whether it is connected\n"
                  "    \"addresses\" : [              (json array) empty where it is not\n"
                  "      {                          (json object)\n"
                  "        \"address\" : \"str\",       (string) its address and port\n"
                  "        \"connected\" : \"str\"      (string) outbound\n"
                  "      },\n"
                  "      ...\n"
                  "    ]\n"
                  "  },\n"
                  "  ...\n"
                  "]\n",
        .example = "\"192.168.0.201\"",
        .json_example = "\"192.168.0.201\"",
        .handler = steering(context, get_added_node_info),
    });
}

void add_connection_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    methods.push_back({
        .category = "network",
        .name = "disconnectnode",
        .lane = Lane::chain,
        .arguments = {{.names = "address",
                       .type = ArgumentType::string,
                       .required = false,
                       .fallback = "none",
                       .text = "address of the peer, as getpeerinfo shows it"},
                      {.names = "nodeid",
                       .type = ArgumentType::number,
                       .required = false,
                       .fallback = "none",
                       .text = "number of the peer, likewise"}},
        .description = "Ends the connection with a peer. Give its address, or its number (with an empty "
                       "address, or by name).\nA node that is followed is called again after some seconds.",
        .result = "Result:\nnull    (json null)\n",
        .example = "\"192.168.0.6:8333\"",
        .json_example = "\"\", 1",
        .handler = steering(context, disconnect_node),
    });
    methods.push_back({
        .category = "network",
        .name = "ping",
        .lane = Lane::chain,
        .description = "Sends each peer a ping. getpeerinfo shows how long the answers took (pingtime), and "
                       "how long one has been waited for (pingwait).",
        .result = "Result:\nnull    (json null)\n",
        .handler = steering(context, [](const RpcContext&, PeerControl& peers,
                                        const RpcCall& call) { return done(call, peers.ping()); }),
    });
    methods.push_back({
        .category = "network",
        .name = "setnetworkactive",
        .lane = Lane::chain,
        .arguments = {{.names = "state",
                       .type = ArgumentType::boolean,
                       .text = "true for on, false for off"}},
        .description = "Switches the network of peers on or off. Off, all connections end and none are made.",
        .result = "Result:\ntrue|false    (boolean) how it is now\n",
        .example = "true",
        .json_example = "true",
        .handler = steering(context, set_network_active),
    });
}

}  // namespace

void add_peer_control_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    add_node_methods(methods, context);
    add_connection_methods(methods, context);
    methods.push_back({
        .category = "blockchain",
        .name = "getblockfrompeer",
        .lane = Lane::chain,
        .arguments = {{.names = "blockhash", .type = ArgumentType::hex, .text = "hash of the block"},
                      {.names = "peer_id",
                       .type = ArgumentType::number,
                       .text = "number of the peer, as getpeerinfo shows it"}},
        .description =
            "Asks a peer for a block whose header is here and which is not: one that was pruned, or "
            "that is not\nin the active chain. It comes without undo data. A peer that does not "
            "answer is disconnected.",
        .result = "Result:\n{}    (empty JSON object) the peer was asked\n",
        .example = "\"00000000c937983704a73af28acdec37b049d214adbda81d7e2a3dd146f6ed09\" 0",
        .json_example = "\"00000000c937983704a73af28acdec37b049d214adbda81d7e2a3dd146f6ed09\", 0",
        .handler = steering(context, get_block_from_peer),
    });
}

}  // namespace blockpub
