// SPDX-License-Identifier: MIT
#include "query/active_calls.hpp"
#include "query/rpc_context.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace blockpub {

namespace {

RpcOutcome get_rpc_info(const RpcContext& context, const RpcCall& call) {
    const auto now = ActiveCalls::Clock::now();
    JsonWriter& out = call.result;
    out.begin_object();
    out.key("active_commands");
    out.begin_array();
    if (context.active_calls != nullptr) {
        for (const ActiveCalls::Row& row : context.active_calls->rows()) {
            out.begin_object();
            out.member("method", row.method);
            out.member(
                "duration",
                std::int64_t{std::chrono::duration_cast<std::chrono::microseconds>(now - row.begun).count()});
            out.end_object();
        }
    }
    out.end_array();
    out.member("logpath", std::string_view(context.log_path));
    out.end_object();
    return {};
}

/// What the C library tells of its heap, as XML.
std::string heap_report() {
    char* text = nullptr;
    std::size_t size = 0;
    FILE* const stream = open_memstream(&text, &size);
    if (stream == nullptr) return {};
    malloc_info(0, stream);
    std::fclose(stream);
    const std::unique_ptr<char, decltype(&std::free)> owned(text, &std::free);
    return {owned.get(), size};
}

RpcOutcome get_memory_info(const RpcCall& call) {
    const std::string_view mode = call.arguments.has(0) ? call.arguments[0].text() : "stats";
    if (mode == "mallocinfo") {
        call.result.string(heap_report());
        return {};
    }
    if (mode != "stats") return rpc_fail(RpcCode::invalid_parameter, fmt::format("unknown mode {}", mode));
    // No keys are held, and so no memory is locked for any.
    call.result.begin_object();
    call.result.key("locked");
    call.result.begin_object();
    for (const std::string_view name : {"used", "free", "total", "locked", "chunks_used", "chunks_free"})
        call.result.member(name, 0);
    call.result.end_object();
    call.result.end_object();
    return {};
}

constexpr std::array<std::pair<std::string_view, LogCategory>, 8> kCategories{{
    {"bus", LogCategory::bus},
    {"chain", LogCategory::chain},
    {"http", LogCategory::http},
    {"import", LogCategory::import},
    {"net", LogCategory::net},
    {"rpc", LogCategory::rpc},
    {"store", LogCategory::store},
    {"zmq", LogCategory::zmq},
}};

RpcOutcome switch_debug(const RpcContext& context, JsonValue names, bool on) {
    for (JsonValue::Cursor c(names); !names.is_null() && !c.done(); c.next()) {
        const auto name = string_argument(c.value());
        if (!name) return std::unexpected(name.error());
        if (!context.set_debug || !context.set_debug(*name, on)) {
            return rpc_fail(RpcCode::invalid_parameter, fmt::format("unknown logging category {}", *name));
        }
    }
    return {};
}

RpcOutcome logging(const RpcContext& context, const RpcCall& call) {
    if (auto done = switch_debug(context, call.arguments[0], true); !done) return done;
    if (auto done = switch_debug(context, call.arguments[1], false); !done) return done;
    call.result.begin_object();
    for (const auto& [name, category] : kCategories)
        call.result.member(name, context.logger->debug_enabled(category));
    call.result.end_object();
    return {};
}

RpcOutcome set_mock_time(const RpcContext& context, const RpcCall& call) {
    constexpr std::int64_t kLatest = 9'223'372'036;  // the last second that fits 64 bits of nanoseconds
    if (context.params->kind != ChainKind::regtest || !context.set_mocktime) {
        return rpc_fail(RpcCode::misc_error, "setmocktime is for regression testing (-regtest mode) only");
    }
    const auto time = integer_argument(call.arguments[0]);
    if (!time) return std::unexpected(time.error());
    if (*time < 0 || *time > kLatest) {
        return rpc_fail(RpcCode::invalid_parameter,
                        fmt::format("Mocktime must be in the range [0, {}], not {}.", kLatest, *time));
    }
    context.set_mocktime(*time);
    return {};
}

RpcOutcome get_index_info(const RpcContext& context, const RpcCall& call) {
    const std::string_view wanted = call.arguments.has(0) ? call.arguments[0].text() : "";
    call.result.begin_object();
    if (context.tx_index != nullptr && (wanted.empty() || wanted == "txindex")) {
        const TransactionIndex::Status status = context.tx_index->status();
        call.result.key("txindex");
        call.result.begin_object();
        call.result.member("synced", status.synced);
        call.result.member("best_block_height", status.best.height.value);
        call.result.end_object();
    }
    call.result.end_object();
    return {};
}

std::vector<RpcArgument> logging_arguments() {
    std::vector<RpcArgument> rows;
    for (const std::string_view name : {"include", "exclude"}) {
        rows.push_back({.names = name,
                        .type = ArgumentType::array,
                        .required = false,
                        .text = name == "include" ? "what to turn on" : "what to turn off",
                        .element = name == "include" ? "\"include_category\"" : "\"exclude_category\"",
                        .details = "[\n  \"str\",    (string) a category, or all\n  ...\n]\n"});
    }
    return rows;
}

}  // namespace

void add_process_methods(std::vector<RpcMethod>& methods, const RpcContext& context) {
    methods.push_back({
        .category = "control",
        .name = "getmemoryinfo",
        .arguments = {{.names = "mode",
                       .type = ArgumentType::string,
                       .required = false,
                       .fallback = "\"stats\"",
                       .text = "stats, or mallocinfo for the C library's report on its heap"}},
        .description = "Memory that is locked (none is), or the state of the heap.",
        .result = "Result (mode \"stats\"):\n"
                  "{                         (json object)\n"
                  "  \"locked\" : {            (json object)\n"
                  "    \"used\" : n,           (numeric) 0\n"
                  "    \"free\" : n,           (numeric) 0\n"
                  "    \"total\" : n,          (numeric) 0\n"
                  "    \"locked\" : n,         (numeric) 0\n"
                  "    \"chunks_used\" : n,    (numeric) 0\n"
                  "    \"chunks_free\" : n     (numeric) 0\n"
                  "  }\n"
                  "}\n\n"
                  "Result (mode \"mallocinfo\"):\n\"str\"    (string) \"<malloc version=\"1\">...\"\n",
        .handler = [](const RpcCall& call) { return get_memory_info(call); },
    });
    methods.push_back({
        .category = "control",
        .name = "getrpcinfo",
        .description = "The calls under way.",
        .result = "Result:\n"
                  "{                            (json object)\n"
                  "  \"active_commands\" : [      (json array)\n"
                  "    {                        (json object)\n"
                  "      \"method\" : \"str\",      (string) name of the method\n"
                  "      \"duration\" : n         (numeric) microseconds since it began\n"
                  "    },\n"
                  "    ...\n"
                  "  ],\n"
                  "  \"logpath\" : \"str\"          (string) where debug.log is\n"
                  "}\n",
        .handler = [&context](const RpcCall& call) { return get_rpc_info(context, call); },
    });
    methods.push_back({
        .category = "control",
        .name = "logging",
        .arguments = logging_arguments(),
        .description = "Turns debug lines on and off by category, and tells which are on.\n"
                       "bitcoind's categories that have no subject here are taken, and change nothing.",
        .result = "Result:\n"
                  "{                            (json object)\n"
                  "  \"category\" : true|false,   (boolean) whether its lines are written\n"
                  "  ...\n"
                  "}\n",
        .example = "'[\"all\"]' '[\"http\"]'",
        .json_example = "[\"all\"], [\"http\"]",
        .handler = [&context](const RpcCall& call) { return logging(context, call); },
    });
    methods.push_back({
        .category = "hidden",
        .name = "setmocktime",
        .arguments = {{.names = "timestamp",
                       .type = ArgumentType::number,
                       .text = "seconds since 1970; 0 lets the clock run again"}},
        .description = "Stops the clock at a time, on regtest.",
        .result = "Result:\nnull    (json null)\n",
        .handler = [&context](const RpcCall& call) { return set_mock_time(context, call); },
    });
    methods.push_back({
        .category = "util",
        .name = "getindexinfo",
        .arguments = {{.names = "index_name",
                       .type = ArgumentType::string,
                       .required = false,
                       .text = "one index; all without it"}},
        .description = "How far the indexes that are kept have come.",
        .result = "Result:\n"
                  "{                               (json object)\n"
                  "  \"name\" : {                    (json object) an index by its name\n"
                  "    \"synced\" : true|false,      (boolean) whether it has caught up with the tip\n"
                  "    \"best_block_height\" : n     (numeric) height up to which it knows all\n"
                  "  },\n"
                  "  ...\n"
                  "}\n",
        .example = "txindex",
        .json_example = "\"txindex\"",
        .handler = [&context](const RpcCall& call) { return get_index_info(context, call); },
    });
}

}  // namespace blockpub
