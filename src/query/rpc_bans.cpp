// SPDX-License-Identifier: MIT
#include "base/ban_list.hpp"
#include "base/saturating.hpp"
#include "query/rpc_context.hpp"
#include "query/rpc_dispatch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace blockpub {

namespace {

std::unexpected<RpcError> no_ban_list() {
    return rpc_fail(RpcCode::database_error, "Error: Ban database not loaded");
}

/// With or without the brackets of an IPv6 address. A network may begin with any address; a single one must
/// be that of a machine.
std::expected<BanTarget, RpcError> target_argument(std::string_view text) {
    std::string plain(text);
    if (const std::size_t end = plain.find(']'); plain.starts_with('[') && end != std::string::npos) {
        const std::string rest = plain.substr(end + 1);
        if (rest.empty() || rest.starts_with('/')) plain = plain.substr(1, end - 1) + rest;
    }
    auto target = BanTarget::parse(plain);
    const bool one = plain.find('/') == std::string::npos;
    const bool valid = target && !(one && target->subnet() && !target->subnet()->network().is_valid());
    if (!valid) return rpc_fail(RpcCode::client_invalid_ip_or_subnet, "Error: Invalid IP/Subnet");
    return std::move(*target);
}

bool is_banned(const BanList& bans, std::string_view text, const BanTarget& target) {
    const bool one = text.find('/') == std::string_view::npos;
    return one && target.subnet() != nullptr ? bans.contains(target.subnet()->network())
                                             : bans.contains(target);
}

/// What a change of the list is worth when it cannot be saved: it holds, and ends with the process.
std::unexpected<RpcError> not_saved(const Error& error) {
    return rpc_fail(RpcCode::misc_error, "The change is in force, but was not saved: " + error.context);
}

/// When a ban ends that is added now.
std::expected<std::int64_t, RpcError> end_of_ban(const RpcContext& context, const RpcCall& call) {
    const std::int64_t now = context.clock->now_seconds();
    std::int64_t time = 0;
    if (call.arguments.has(2)) {
        const auto given = integer_argument(call.arguments[2]);
        if (!given) return std::unexpected(given.error());
        time = *given;
    }
    const bool absolute = call.arguments[3].is_true();
    if (absolute && time < now)
        return rpc_fail(RpcCode::invalid_parameter, "Error: Absolute timestamp is in the past");
    if (time <= 0) return saturating_add(now, context.ban_time.count());
    if (absolute) return time;
    constexpr std::int64_t kForEver = std::int64_t{1} << 52;  // any JSON reader takes it
    return std::min(saturating_add(now, time), kForEver);
}

RpcOutcome set_ban(const RpcContext& context, const RpcCall& call) {
    const std::string_view text = call.arguments[0].text();
    const std::string_view command = call.arguments[1].text();
    if (command != "add" && command != "remove")
        return rpc_fail(RpcCode::misc_error, help_page(*call.methods.find("setban")));
    if (context.bans == nullptr) return no_ban_list();
    const auto target = target_argument(text);
    if (!target) return std::unexpected(target.error());
    if (command == "add") {
        if (is_banned(*context.bans, text, *target))
            return rpc_fail(RpcCode::client_node_already_added, "Error: IP/Subnet already banned");
        const auto end = end_of_ban(context, call);
        if (!end) return std::unexpected(end.error());
        const auto added = context.bans->add(*target, *end);
        if (context.peer_control != nullptr) (void)context.peer_control->bans_changed();
        if (!added) return not_saved(added.error());
    } else {
        const auto removed = context.bans->remove(*target);
        if (removed && !*removed) {
            return rpc_fail(
                RpcCode::client_invalid_ip_or_subnet,
                "Error: Unban failed. Requested address/subnet was not previously manually banned.");
        }
        if (context.peer_control != nullptr) (void)context.peer_control->bans_changed();
        if (!removed) return not_saved(removed.error());
    }
    call.result.null();
    return {};
}

RpcOutcome list_banned(const RpcContext& context, const RpcCall& call) {
    if (context.bans == nullptr) return no_ban_list();
    const std::int64_t now = context.clock->now_seconds();
    JsonWriter& out = call.result;
    out.begin_array();
    for (const BanList::Ban& ban : context.bans->bans()) {
        out.begin_object();
        out.member("address", std::string_view(ban.target.text()));
        out.member("ban_created", ban.created);
        out.member("banned_until", ban.until);
        out.member("ban_duration", saturating_subtract(ban.until, ban.created));
        out.member("time_remaining", saturating_subtract(ban.until, now));
        out.end_object();
    }
    out.end_array();
    return {};
}

RpcOutcome clear_banned(const RpcContext& context, const RpcCall& call) {
    if (context.bans == nullptr) return no_ban_list();
    const auto cleared = context.bans->clear();
    if (context.peer_control != nullptr) (void)context.peer_control->bans_changed();
    if (!cleared) return not_saved(cleared.error());
    call.result.null();
    return {};
}

constexpr std::string_view kBannedResult =
    "Result:\n"
    "[                              (json array)\n"
    "  {                            (json object)\n"
    "    \"address\" : \"str\",         (string) the address or network, with its prefix length\n"
    "    \"ban_created\" : n,         (numeric) since when, in seconds since 1970\n"
    "    \"banned_until\" : n,        (numeric) until when\n"
    "    \"ban_duration\" : n,        (numeric) seconds between the two\n"
    "    \"time_remaining\" : n       (numeric) seconds that are left\n"
    "  },\n"
    "  ...\n"
    "]\n";

}  // namespace

void add_ban_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    methods.push_back({
        .category = "network",
        .name = "clearbanned",
        .lane = Lane::chain,
        .description = "Removes all bans.",
        .result = "Result:\nnull    (json null)\n",
        .handler = [&context](const RpcCall& call) { return clear_banned(context, call); },
    });
    methods.push_back({
        .category = "network",
        .name = "listbanned",
        .description = "The bans in force, one object each.",
        .result = kBannedResult,
        .handler = [&context](const RpcCall& call) { return list_banned(context, call); },
    });
    methods.push_back({
        .category = "network",
        .name = "setban",
        .lane = Lane::chain,
        .arguments = {{.names = "subnet",
                       .type = ArgumentType::string,
                       .text = "address, or network as address/prefix length or address/netmask"},
                      {.names = "command", .type = ArgumentType::string, .text = "add or remove"},
                      {.names = "bantime",
                       .type = ArgumentType::number,
                       .required = false,
                       .fallback = "0",
                       .text = "seconds that the ban lasts, or its end in seconds since 1970 with "
                               "\"absolute\"; 0: -bantime"},
                      {.names = "absolute",
                       .type = ArgumentType::boolean,
                       .required = false,
                       .fallback = "false",
                       .text = "whether \"bantime\" is an end"}},
        .description =
            "Bans an address or a network, or removes a ban. Connections with it end, and none are\n"
            "made or taken. Bans outlive the process, in banlist.json.",
        .result = "Result:\nnull    (json null)\n",
        .example = "\"192.168.0.0/24\" \"add\" 86400",
        .json_example = "\"192.168.0.0/24\", \"add\", 86400",
        .handler = [&context](const RpcCall& call) { return set_ban(context, call); },
    });
}

}  // namespace blockpub
