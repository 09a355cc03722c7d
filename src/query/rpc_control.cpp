// SPDX-License-Identifier: MIT
#include "query/rpc_context.hpp"
#include "query/rpc_dispatch.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace blockpub {

namespace {

/// Which arguments are text, for clients that take everything from a command line: bitcoin-cli's own
/// question.
void dump_conversions(const RpcCall& call) {
    std::vector<const RpcMethod*> methods;
    for (const RpcMethod& method : call.methods.all()) methods.push_back(&method);
    std::ranges::sort(methods, {}, &RpcMethod::name);
    call.result.begin_array();
    for (const RpcMethod* method : methods) {
        for (std::size_t position = 0; position < method->arguments.size(); ++position) {
            const RpcArgument& argument = method->arguments[position];
            const bool text = argument.type == ArgumentType::string || argument.type == ArgumentType::hex;
            for (std::string_view names = argument.names; !names.empty();) {
                const auto bar = names.find('|');
                call.result.begin_array();
                call.result.string(method->name);
                call.result.integer(static_cast<std::int64_t>(position));
                call.result.string(names.substr(0, bar));
                call.result.boolean(text);
                call.result.end_array();
                names = bar == std::string_view::npos ? std::string_view() : names.substr(bar + 1);
            }
        }
    }
    call.result.end_array();
}

RpcOutcome help(const RpcCall& call) {
    if (call.arguments[0].text() == "dump_all_command_conversions") {
        dump_conversions(call);
        return {};
    }
    call.result.string(call.methods.help(call.arguments[0].text()));
    return {};
}

RpcOutcome uptime(const RpcContext& context, const RpcCall& call) {
    const auto up = std::chrono::steady_clock::now() - context.started;
    call.result.integer(std::chrono::duration_cast<std::chrono::seconds>(up).count());
    return {};
}

RpcOutcome stop(const RpcContext& context, const RpcCall& call) {
    context.request_stop();
    call.result.string("blockpub stopping");
    return {};
}

RpcOutcome echo(const RpcCall& call) {
    call.result.begin_array();
    for (std::size_t i = 0; i < call.arguments.size(); ++i) call.result.copy(call.arguments[i]);
    call.result.end_array();
    return {};
}

std::vector<RpcArgument> echo_arguments() {
    static constexpr std::array<std::string_view, 10> kNames = {"arg0", "arg1", "arg2", "arg3", "arg4",
                                                                "arg5", "arg6", "arg7", "arg8", "arg9"};
    std::vector<RpcArgument> arguments;
    for (const std::string_view name : kNames) {
        arguments.push_back(
            {.names = name, .type = ArgumentType::string, .required = false, .checked = false});
    }
    return arguments;
}

}  // namespace

void add_control_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    methods.push_back({
        .category = "control",
        .name = "help",
        .arguments = {{.names = "command",
                       .type = ArgumentType::string,
                       .required = false,
                       .fallback = "all commands",
                       .text = "the method to explain"}},
        .description = "Lists the methods, or explains one.",
        .result = "Result:\n\"str\"    (string) the text\n",
        .handler = [](const RpcCall& call) { return help(call); },
    });
    methods.push_back({
        .category = "control",
        .name = "stop",
        .arguments = {{.names = "wait", .type = ArgumentType::number, .required = false, .hidden = true}},
        .description = "Asks the daemon to stop. The answer comes first.",
        .result = "Result:\n\"str\"    (string) blockpub stopping\n",
        .handler = [&context](const RpcCall& call) { return stop(context, call); },
    });
    methods.push_back({
        .category = "control",
        .name = "uptime",
        .description = "How long the daemon has been running.",
        .result = "Result:\nn    (numeric) seconds\n",
        .handler = [&context](const RpcCall& call) { return uptime(context, call); },
    });
    for (const std::string_view name : {"echo", "echojson"}) {
        methods.push_back({
            .category = "hidden",
            .name = name,
            .arguments = echo_arguments(),
            .description = "Answers with its arguments, for trying out a client.",
            .result = "Result:\n[...]    (json array) the arguments\n",
            .example = "\"hello\"",
            .json_example = "\"hello\"",
            .handler = [](const RpcCall& call) { return echo(call); },
        });
    }
}

}  // namespace blockpub
