// SPDX-License-Identifier: MIT
#include "query/rpc_dispatch.hpp"

#include "base/ascii.hpp"
#include "base/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

namespace blockpub {

// The table.

RpcMethods::RpcMethods(std::vector<RpcMethod> methods) : methods_(std::move(methods)) {
    std::ranges::sort(methods_, [](const RpcMethod& a, const RpcMethod& b) {
        return std::pair(a.category, a.name) < std::pair(b.category, b.name);
    });
    for (const RpcMethod& method : methods_) {
        BLOCKPUB_CHECK(by_name_.emplace(method.name, &method).second, "method {} twice", method.name);
    }
}

const RpcMethod* RpcMethods::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
}

std::string RpcMethods::help(std::string_view name) const {
    std::string out;
    if (!name.empty()) {
        const RpcMethod* method = find(name);
        if (method == nullptr) return fmt::format("help: unknown command: {}", name);
        out = help_page(*method);
    } else {
        std::string_view category;
        for (const RpcMethod& method : methods_) {
            if (method.category == "hidden") continue;
            if (method.category != category) {
                if (!category.empty()) out += '\n';
                category = method.category;
                std::string title(category);
                if (title[0] >= 'a' && title[0] <= 'z') title[0] = static_cast<char>(title[0] - 'a' + 'A');
                out += fmt::format("== {} ==\n", title);
            }
            out += usage_line(method) + '\n';
        }
    }
    if (out.ends_with('\n')) out.pop_back();
    return out;
}

// The envelope of a call. One serves all calls of a batch: like bitcoind, an element that is no object is
// answered with the id and in the version of the one before it.

struct RpcDispatcher::Envelope {
    std::optional<JsonValue> reply_to = JsonValue();  // the id
    bool version_2 = false;
    std::string_view method;
    JsonValue parameters;

    [[nodiscard]] bool is_notification() const { return version_2 && !reply_to; }
    [[nodiscard]] RpcOutcome read(JsonValue request);
    void begin_reply(JsonWriter& writer) const {
        writer.begin_object();
        if (version_2) writer.member("jsonrpc", "2.0");
    }
    void end_reply(JsonWriter& writer) const {
        if (reply_to) {
            writer.key("id");
            writer.copy(*reply_to);
        }
        writer.end_object();
    }
    void error_reply(JsonWriter& writer, const RpcError& error) const {
        begin_reply(writer);
        if (!version_2) {
            writer.key("result");
            writer.null();
        }
        writer.key("error");
        if (error.object.empty()) {
            writer.begin_object();
            writer.member("code", static_cast<int>(error.code));
            writer.member("message", std::string_view(error.message));
            writer.end_object();
        } else {
            writer.literal(error.object);
        }
        end_reply(writer);
    }
};

RpcOutcome RpcDispatcher::Envelope::read(JsonValue request) {
    const auto invalid = [](const char* text) { return rpc_fail(RpcCode::invalid_request, text); };
    if (request.kind() != JsonKind::object) return invalid("Invalid Request object");
    reply_to = request.find("id");
    version_2 = false;
    const JsonValue version = request.find("jsonrpc").value_or(JsonValue());
    if (!version.is_null()) {
        if (!version.is_string()) return invalid("jsonrpc field must be a string");
        if (version.text() != "1.0" && version.text() != "2.0")
            return invalid("JSON-RPC version not supported");
        version_2 = version.text() == "2.0";
    }
    const JsonValue name = request.find("method").value_or(JsonValue());
    if (name.is_null()) return invalid("Missing method");
    if (!name.is_string()) return invalid("Method must be a string");
    method = name.text();
    parameters = request.find("params").value_or(JsonValue());
    const JsonKind kind = parameters.kind();
    if (kind != JsonKind::null && kind != JsonKind::array && kind != JsonKind::object) {
        return invalid("Params must be an array or object");
    }
    return {};
}

namespace {

constexpr std::size_t kSmallBatch = 64;
constexpr int kUnavailable = 503;
constexpr std::string_view kRetryAfter = "Retry-After: 1\r\n";

HttpResponse json_response(int status, std::string text, std::vector<JsonSplice> splices = {}) {
    HttpResponse response;
    response.status = status;
    response.content_type = "application/json";
    if (splices.empty()) {
        response.text = std::move(text);
        return response;
    }
    const auto whole = std::make_shared<const std::string>(std::move(text));
    response.shared_text = whole->capacity();
    const ByteSpan bytes(reinterpret_cast<const std::uint8_t*>(whole->data()), whole->size());
    std::size_t begin = 0;
    response.pieces.reserve(2 * splices.size() + 1);
    for (JsonSplice& splice : splices) {
        response.pieces.emplace_back(MappedBytes(bytes.subspan(begin, splice.at - begin), whole));
        response.pieces.emplace_back(HexBytes(std::move(splice.bytes)));
        begin = splice.at;
    }
    response.pieces.emplace_back(MappedBytes(bytes.subspan(begin), whole));
    return response;
}

HttpResponse no_content() {
    HttpResponse response;
    response.status = 204;
    return response;
}

int legacy_status(const RpcError& error) {
    if (error.status != 0) return error.status;
    const RpcCode code = error.code;
    if (code == RpcCode::invalid_request) return 400;
    if (code == RpcCode::method_not_found) return 404;
    return 500;
}

/// A name from outside, fit for a log line.
std::string loggable(std::string_view name) {
    std::string out;
    for (const char c : name.substr(0, 64)) {
        const bool plain = is_alphanumeric(c) || c == '_' || c == '-';
        out += plain ? c : '?';
    }
    return out;
}

}  // namespace

// The dispatcher.

void RpcDispatcher::set_warmup(std::string text) {
    MutexLock lock(mutex_);
    warmup_ = std::move(text);
}

void RpcDispatcher::set_ready(std::unique_ptr<const RpcMethods> methods) {
    BLOCKPUB_CHECK(methods_ == nullptr);
    methods_ = std::move(methods);
    ready_.store(methods_.get(), std::memory_order_release);
}

HttpResponse RpcDispatcher::error_response(int status, const RpcError& error) {
    std::string text;
    JsonWriter writer(text);
    Envelope().error_reply(writer, error);
    text += '\n';
    return json_response(status, std::move(text));
}

std::string RpcDispatcher::warmup() const {
    MutexLock lock(mutex_);
    return warmup_;
}

HttpAnswer RpcDispatcher::answer(HttpRequest& request) const {
    if (!whitelist_.may_call_any(request.user)) {
        log_.info("RPC User {} not allowed to call any methods", loggable(request.user));
        return HttpResponse{.status = 403};
    }
    auto document = std::make_shared<JsonDocument>();
    const bool is_json = document->parse(std::exchange(request.body, {}));
    const JsonKind kind = document->root().kind();
    if (!is_json || (kind != JsonKind::object && kind != JsonKind::array)) {
        return error_response(
            500, {RpcCode::parse_error, is_json ? "Top-level object parse error" : "Parse error"});
    }
    if (auto refused = refuse_by_whitelist(document->root(), request.user)) return std::move(*refused);
    const Plan plan = plan_of(document->root());
    if (plan.lane == Lane::here && !plan.large) return execute(document->root(), request);
    return HttpJob{.lane = plan.lane,
                   .run = [this, document, &request] { return execute(document->root(), request); },
                   .reply_bytes = plan.large ? kLargeReply : 0};
}

std::optional<HttpResponse> RpcDispatcher::refuse_by_whitelist(JsonValue root,
                                                               const std::string& user) const {
    if (!whitelist_.lists(user)) return std::nullopt;
    const auto refuse = [&](std::string_view method) -> std::optional<HttpResponse> {
        if (whitelist_.may_call(user, method)) return std::nullopt;
        log_.info("RPC User {} not allowed to call method {}", loggable(user), loggable(method));
        return HttpResponse{.status = 403};
    };
    if (root.kind() == JsonKind::object) {
        Envelope envelope;
        if (!envelope.read(root)) return std::nullopt;  // answered as malformed, without a call
        return refuse(envelope.method);
    }
    for (JsonValue::Cursor c(root); !c.done(); c.next()) {
        if (c.value().kind() != JsonKind::object)
            return error_response(400, {RpcCode::invalid_request, "Invalid Request object"});
        const JsonValue name = c.value().find("method").value_or(JsonValue());
        if (!name.is_string()) {
            return error_response(500, {RpcCode::parse_error,
                                        fmt::format("JSON value of type {} is not of expected type string",
                                                    json_kind_name(name.kind()))});
        }
        if (auto refused = refuse(name.text())) return refused;
    }
    return std::nullopt;
}

RpcDispatcher::Plan RpcDispatcher::plan_of(JsonValue root) const {
    const RpcMethods* table = methods();
    if (table == nullptr) return {};
    Plan plan;
    const auto add = [&](JsonValue request) {
        const JsonValue name = request.find("method").value_or(JsonValue());
        const RpcMethod* method = name.is_string() ? table->find(name.text()) : nullptr;
        if (method == nullptr) return;
        Lane lane = method->lane;
        if (method->lane_of) {
            Envelope envelope;
            if (!envelope.read(request)) return;
            const auto arguments = order_arguments(*method, envelope.parameters);
            if (arguments) lane = method->lane_of(*arguments);
            if (lane == Lane::here) return;
        }
        plan.lane = std::max(plan.lane, lane);
        plan.large = plan.large || method->large_reply;
    };
    if (root.kind() == JsonKind::object) {
        add(root);
        return plan;
    }
    for (JsonValue::Cursor c(root); !c.done(); c.next()) add(c.value());
    plan.large = plan.large || root.size() > kSmallBatch;
    return plan;
}

HttpResponse RpcDispatcher::execute(JsonValue root, const HttpRequest& from) const {
    return root.kind() == JsonKind::object ? execute_one(root, from) : execute_batch(root, from);
}

HttpResponse RpcDispatcher::execute_one(JsonValue request, const HttpRequest& from) const {
    std::string text;
    std::vector<JsonSplice> splices;
    text.reserve(512);
    JsonWriter writer(text, &splices);
    Envelope envelope;
    int status = 200;
    if (auto read = envelope.read(request); !read) {
        status = legacy_status(read.error());
        envelope.error_reply(writer, read.error());
    } else {
        const auto outcome = reply(writer, envelope, from);
        if (envelope.is_notification()) return no_content();
        if (!outcome && !envelope.version_2) status = legacy_status(outcome.error());
    }
    text += '\n';
    HttpResponse response = json_response(status, std::move(text), std::move(splices));
    if (status == kUnavailable) response.fields = std::string(kRetryAfter);
    return response;
}

HttpResponse RpcDispatcher::execute_batch(JsonValue batch, const HttpRequest& from) const {
    std::string text;
    std::vector<JsonSplice> splices;
    JsonWriter writer(text, &splices);
    writer.begin_array();
    bool any = false;
    Envelope envelope;
    for (JsonValue::Cursor c(batch); !c.done(); c.next()) {
        const JsonWriter::Mark before = writer.mark();
        if (auto read = envelope.read(c.value()); !read) {
            envelope.error_reply(writer, read.error());
        } else {
            (void)reply(writer, envelope, from);
        }
        if (envelope.is_notification()) {
            writer.rewind(before);
        } else {
            any = true;
        }
        if (text.size() + splices.size() * sizeof(JsonSplice) > batch_limit_) return refuse_batch();
    }
    writer.end_array();
    // An empty batch says no version, and old clients expect an empty list.
    if (!any && batch.size() > 0) return no_content();
    text += '\n';
    return json_response(200, std::move(text), std::move(splices));
}

HttpResponse RpcDispatcher::refuse_batch() const {
    HttpResponse response = error_response(
        kUnavailable,
        {RpcCode::misc_error,
         fmt::format("The replies of the batch would take more than {} bytes; ask for less at a time, or "
                     "give -rpcbuffer a larger value",
                     batch_limit_)});
    response.fields = std::string(kRetryAfter);
    return response;
}

RpcOutcome RpcDispatcher::reply(JsonWriter& writer, const Envelope& envelope, const HttpRequest& from) const {
    const JsonWriter::Mark begin = writer.mark();
    envelope.begin_reply(writer);
    writer.key("result");
    const std::size_t size = writer.mark().size;
    RpcOutcome outcome;
    try {
        outcome = call(writer, envelope, from);
    } catch (const std::exception& failure) {
        outcome = rpc_fail(RpcCode::misc_error, failure.what());
    }
    if (!outcome) {
        writer.rewind(begin);
        envelope.error_reply(writer, outcome.error());
        return outcome;
    }
    if (writer.mark().size == size) writer.null();
    if (!envelope.version_2) {
        writer.key("error");
        writer.null();
    }
    envelope.end_reply(writer);
    return {};
}

RpcOutcome RpcDispatcher::call(JsonWriter& writer, const Envelope& envelope, const HttpRequest& from) const {
    log_.debug("method={} user={}", loggable(envelope.method), loggable(from.user));
    const RpcMethods* table = methods();
    if (table == nullptr) return rpc_fail(RpcCode::in_warmup, warmup());
    const RpcMethod* method = table->find(envelope.method);
    if (method == nullptr) return rpc_fail(RpcCode::method_not_found, "Method not found");
    if (method->pass_on) {
        const ActiveCalls::Scope scope(active_, method->name);
        return method->pass_on(envelope.parameters, {*table, RpcArguments(), writer, from.departed});
    }
    const auto arguments = order_arguments(*method, envelope.parameters);
    if (!arguments) return std::unexpected(arguments.error());
    if (auto checked = check_arguments(*method, *arguments); !checked) return checked;
    const ActiveCalls::Scope scope(active_, method->name);
    return method->handler({*table, *arguments, writer, from.departed});
}

}  // namespace blockpub
