// SPDX-License-Identifier: MIT
#include "base/check.hpp"
#include "query/rpc_method.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace blockpub {

namespace {

bool is_named(std::string_view names, std::string_view name) {
    while (true) {
        const std::size_t bar = names.find('|');
        if (names.substr(0, bar) == name) return true;
        if (bar == std::string_view::npos) return false;
        names.remove_prefix(bar + 1);
    }
}

JsonKind expected_kind(ArgumentType type) {
    switch (type) {
        case ArgumentType::string:
        case ArgumentType::hex:
            return JsonKind::string;
        case ArgumentType::number:
        case ArgumentType::amount:
            return JsonKind::number;
        case ArgumentType::boolean:
            return JsonKind::boolean;
        case ArgumentType::array:
            return JsonKind::array;
        case ArgumentType::object:
            return JsonKind::object;
    }
    return JsonKind::null;
}

std::string type_text(JsonKind got, JsonKind wanted) {
    return fmt::format("JSON value of type {} is not of expected type {}", json_kind_name(got),
                       json_kind_name(wanted));
}

std::unexpected<RpcError> wrong_type(JsonKind got, JsonKind wanted) {
    return rpc_fail(RpcCode::type_error, type_text(got, wanted));
}

struct NamedParameter {
    std::string_view name;
    JsonValue value;
    bool used = false;
};

std::expected<std::vector<NamedParameter>, RpcError> named_parameters(JsonValue parameters) {
    std::vector<NamedParameter> given;
    for (JsonValue::Cursor c(parameters); !c.done(); c.next()) {
        const std::string_view name = c.name();
        if (std::ranges::find(given, name, &NamedParameter::name) != given.end()) {
            return rpc_fail(RpcCode::invalid_parameter,
                            fmt::format("Parameter {} specified multiple times", name));
        }
        // More names than any method has arguments: one of them is unknown, and the first few tell which.
        if (given.size() > 2 * RpcArguments::kMax) break;
        given.push_back({name, c.value()});
    }
    return given;
}

}  // namespace

std::expected<RpcArguments, RpcError> order_arguments(const RpcMethod& method, JsonValue parameters) {
    RpcArguments arguments;
    if (parameters.kind() != JsonKind::object) {
        // One too many is kept, for the count to be found wrong.
        for (JsonValue::Cursor c(parameters); !c.done() && arguments.size() < RpcArguments::kMax; c.next()) {
            arguments.push_back(c.value());
        }
        return arguments;
    }
    auto given = named_parameters(parameters);
    if (!given) return std::unexpected(given.error());

    std::vector<JsonValue> named;  // by position; a hole is null
    std::optional<std::size_t> first_named;
    for (std::size_t i = 0; i < method.arguments.size(); ++i) {
        const auto found = std::ranges::find_if(*given, [&](const NamedParameter& p) {
            return !p.used && is_named(method.arguments[i].names, p.name);
        });
        if (found == given->end()) continue;
        found->used = true;
        named.resize(i + 1);
        named[i] = found->value;
        if (!first_named) first_named = i;
    }
    // What `args` lists comes first, by position.
    const auto list = std::ranges::find_if(*given, [](const NamedParameter& p) {
        return !p.used && p.name == "args" && p.value.kind() == JsonKind::array;
    });
    if (list != given->end()) {
        list->used = true;
        if (first_named && *first_named < list->value.size()) {
            return rpc_fail(RpcCode::invalid_parameter,
                            fmt::format("Parameter {} specified twice both as positional and named argument",
                                        method.arguments[*first_named].names));
        }
        for (JsonValue::Cursor c(list->value); !c.done() && arguments.size() < RpcArguments::kMax; c.next()) {
            arguments.push_back(c.value());
        }
    }
    const auto unknown = std::ranges::find(*given, false, &NamedParameter::used);
    if (unknown != given->end()) {
        return rpc_fail(RpcCode::invalid_parameter, fmt::format("Unknown named parameter {}", unknown->name));
    }
    for (std::size_t i = arguments.size(); i < named.size(); ++i) arguments.push_back(named[i]);
    return arguments;
}

RpcOutcome check_arguments(const RpcMethod& method, const RpcArguments& arguments) {
    BLOCKPUB_CHECK(method.arguments.size() < RpcArguments::kMax);
    std::size_t needed = 0;
    for (std::size_t i = 0; i < method.arguments.size(); ++i) {
        if (method.arguments[i].required) needed = i + 1;
    }
    if (arguments.size() < needed || arguments.size() > method.arguments.size()) {
        return rpc_fail(RpcCode::misc_error, help_page(method));
    }
    std::string mismatches;
    for (std::size_t i = 0; i < method.arguments.size(); ++i) {
        const RpcArgument& argument = method.arguments[i];
        const JsonKind kind = arguments[i].kind();
        if (!argument.checked || (!argument.required && kind == JsonKind::null)) continue;
        const JsonKind wanted = expected_kind(argument.type);
        if (kind == wanted) continue;
        mismatches += fmt::format("{}\n    \"Position {} ({})\": \"{}\"", mismatches.empty() ? "" : ",",
                                  i + 1, argument.names, type_text(kind, wanted));
    }
    if (mismatches.empty()) return {};
    return rpc_fail(RpcCode::type_error, fmt::format("Wrong type passed:\n{{{}\n}}", mismatches));
}

RpcError bad_hash(std::string_view text, std::string_view name) {
    if (text.size() != 64) {
        return {RpcCode::invalid_parameter,
                fmt::format("{} must be of length 64 (not {}, for '{}')", name, text.size(), text)};
    }
    return {RpcCode::invalid_parameter, fmt::format("{} must be hexadecimal string (not '{}')", name, text)};
}

std::expected<std::string_view, RpcError> string_argument(JsonValue value) {
    if (!value.is_string()) return wrong_type(value.kind(), JsonKind::string);
    return value.text();
}

std::expected<bool, RpcError> boolean_argument(JsonValue value) {
    if (value.kind() != JsonKind::boolean) return wrong_type(value.kind(), JsonKind::boolean);
    return value.is_true();
}

std::expected<std::int64_t, RpcError> integer_argument(JsonValue value) {
    if (value.kind() != JsonKind::number) return wrong_type(value.kind(), JsonKind::number);
    if (const auto integer = value.integer()) return *integer;
    return rpc_fail(RpcCode::misc_error, "JSON integer out of range");
}

std::expected<int, RpcError> int_argument(JsonValue value) {
    const auto wide = integer_argument(value);
    if (!wide) return std::unexpected(wide.error());
    if (*wide < std::numeric_limits<int>::min() || *wide > std::numeric_limits<int>::max()) {
        return rpc_fail(RpcCode::misc_error, "JSON integer out of range");
    }
    return static_cast<int>(*wide);
}

std::expected<std::uint64_t, RpcError> unsigned_argument(JsonValue value) {
    if (value.kind() != JsonKind::number) return wrong_type(value.kind(), JsonKind::number);
    const std::string_view digits = value.text();
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error == std::errc() && end == digits.data() + digits.size()) return number;
    return rpc_fail(RpcCode::misc_error, "JSON integer out of range");
}

}  // namespace blockpub
