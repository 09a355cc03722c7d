// SPDX-License-Identifier: MIT
#include "query/rpc_method.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace blockpub {

namespace {

std::string in_usage(const RpcArgument& argument) {
    switch (argument.type) {
        case ArgumentType::string:
        case ArgumentType::hex:
            return fmt::format("\"{}\"", argument.name());
        case ArgumentType::array:
            return fmt::format("[{},...]", argument.element);
        case ArgumentType::object:
            return fmt::format("{{{}}}", argument.element);
        case ArgumentType::number:
        case ArgumentType::amount:
        case ArgumentType::boolean:
            break;
    }
    return std::string(argument.name());
}

std::string_view type_word(ArgumentType type) {
    switch (type) {
        case ArgumentType::string:
        case ArgumentType::hex:
            return "string";
        case ArgumentType::number:
            return "numeric";
        case ArgumentType::amount:
            return "numeric or string";
        case ArgumentType::boolean:
            return "boolean";
        case ArgumentType::array:
            return "json array";
        case ArgumentType::object:
            return "json object";
    }
    return "";
}

std::string description_of(const RpcArgument& argument) {
    std::string out =
        fmt::format("({}, {}", type_word(argument.type), argument.required ? "required" : "optional");
    if (!argument.fallback.empty()) out += fmt::format(", default={}", argument.fallback);
    out += ')';
    if (!argument.text.empty()) out += fmt::format(" {}", argument.text);
    return out;
}

std::size_t shown_arguments(const RpcMethod& method) {
    const auto hidden = std::ranges::find(method.arguments, true, &RpcArgument::hidden);
    return static_cast<std::size_t>(hidden - method.arguments.begin());
}

std::string arguments_section(const RpcMethod& method) {
    const std::size_t shown = shown_arguments(method);
    if (shown == 0) return {};
    std::vector<std::string> heads;
    std::size_t width = 0;
    for (std::size_t i = 0; i < shown; ++i) {
        heads.push_back(fmt::format("{}. {}", i + 1, method.arguments[i].name()));
        width = std::max(width, heads.back().size());
    }
    std::string out = "\nArguments:\n";
    for (std::size_t i = 0; i < shown; ++i) {
        out += fmt::format("{:<{}}    {}\n{}", heads[i], width, description_of(method.arguments[i]),
                           method.arguments[i].details);
    }
    return out;
}

std::string examples_section(const RpcMethod& method) {
    const std::string_view space = method.example.empty() ? "" : " ";
    return fmt::format(
        "\nExamples:\n> bitcoin-cli {0}{1}{2}\n"
        "> curl --user myusername --data-binary '{{\"jsonrpc\": \"2.0\", \"id\": \"curltest\", \"method\": "
        "\"{0}\", \"params\": [{3}]}}'"
        " -H 'content-type: application/json' http://127.0.0.1:8372/\n",
        method.name, space, method.example, method.json_example);
}

}  // namespace

std::string usage_line(const RpcMethod& method) {
    std::string out(method.name);
    bool optional = false;
    for (std::size_t i = 0; i < shown_arguments(method); ++i) {
        const RpcArgument& argument = method.arguments[i];
        if (!argument.required && !optional) out += " (";
        if (argument.required && optional) out += " )";
        optional = !argument.required;
        out += ' ';
        out += in_usage(argument);
    }
    if (optional) out += " )";
    return out;
}

std::string help_page(const RpcMethod& method) {
    return fmt::format("{}\n\n{}\n{}\n{}{}", usage_line(method), method.description,
                       arguments_section(method), method.result, examples_section(method));
}

}  // namespace blockpub
