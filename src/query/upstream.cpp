// SPDX-License-Identifier: MIT
#include "query/upstream.hpp"

#include "query/json_writer.hpp"
#include "query/rpc_auth.hpp"
#include "query/upstream_answer.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <utility>

namespace blockpub {
namespace {

constexpr std::size_t kMaxReply = std::size_t{64} << 20;
constexpr std::size_t kMaxCookie = 1024;
constexpr std::chrono::seconds kHangs{1};
constexpr std::string_view kId = "blockpub";
constexpr std::string_view kUnknownOutcome = "; it is not known whether the call was carried out";

std::string request_body(std::string_view method, JsonValue parameters) {
    std::string body;
    JsonWriter out(body);
    out.begin_object();
    out.member("jsonrpc", "1.0");
    out.member("id", kId);
    out.member("method", method);
    out.key("params");
    if (parameters.is_null()) {
        out.begin_array();
        out.end_array();
    } else {
        out.copy(parameters);
    }
    out.end_object();
    return body;
}

/// The first line of the cookie file; empty when there is none that could be one.
std::string read_cookie(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::array<char, kMaxCookie + 1> buffer;
    file.read(buffer.data(), buffer.size());
    const auto size = static_cast<std::size_t>(file.gcount());
    if (size > kMaxCookie) return {};
    const std::string_view text(buffer.data(), size);
    return std::string(text.substr(0, text.find_first_of("\r\n")));
}

}  // namespace

std::string Upstream::sentence(std::string_view what, std::string_view remedy) const {
    return fmt::format("The node at {} {}: {}", options_.url.shown(), what, remedy);
}

std::string Upstream::login_other_than(std::string_view refused) {
    if (options_.url.login) return refused.empty() ? *options_.url.login : std::string();
    {
        const MutexLock lock(mutex_);
        if (!cookie_.empty() && cookie_ != refused) return cookie_;
    }
    std::string cookie = read_cookie(options_.cookie_path);
    if (cookie == refused) return {};
    const MutexLock lock(mutex_);
    cookie_ = cookie;
    return cookie;
}

bool Upstream::hangs() const {
    const MutexLock lock(mutex_);
    return std::chrono::steady_clock::now() < hangs_until_;
}

Upstream::Exchanged Upstream::exchange(std::string_view login, const std::string& body, Time deadline,
                                       const std::function<bool()>& departed) const {
    const UpstreamUrl& url = options_.url;
    const bool bracketed = url.host.find(':') != std::string::npos;
    return exchange_http(
        {.host = url.host,
         .port = url.port,
         .request = fmt::format("POST {} HTTP/1.1\r\nHost: {}{}{}:{}\r\nConnection: close\r\n"
                                "Authorization: Basic {}\r\nContent-Type: application/json\r\n"
                                "Content-Length: {}\r\n\r\n{}",
                                url.target, bracketed ? "[" : "", url.host, bracketed ? "]" : "", url.port,
                                encode_base64(login), body.size(), body),
         .deadline = deadline,
         .max_body = kMaxReply,
         .stopping = [&] { return stopping_() || (departed && departed()); }});
}

Upstream::Failure Upstream::no_login(bool refused) const {
    if (options_.url.login) return {sentence("refuses user and password", "correct them in -upstreamrpc=")};
    const std::string path = options_.cookie_path.string();
    if (refused)
        return {sentence(fmt::format("refuses the cookie {}", path),
                         "give the path of this node's own with -upstreamcookiefile=")};
    return {sentence(fmt::format("has no cookie at {}", path),
                     "start it, or give the cookie's path with -upstreamcookiefile=")};
}

Upstream::Failure Upstream::no_reply(const HttpExchangeFailure& failure, std::chrono::seconds limit) {
    const std::string_view outcome = failure.sent ? kUnknownOutcome : "";
    switch (failure.kind) {
        case HttpExchangeFailure::Kind::unreachable:
            return {sentence(fmt::format("cannot be reached ({})", failure.reason),
                             "start it, or give its address with -upstreamrpc=")};
        case HttpExchangeFailure::Kind::timeout: {
            const MutexLock lock(mutex_);
            if (limit <= options_.timeout) hangs_until_ = std::chrono::steady_clock::now() + kHangs;
            return {sentence(fmt::format("did not answer within {} s{}", limit.count(), outcome),
                             "look into its log, or give -upstreamtimeout= a larger value")};
        }
        case HttpExchangeFailure::Kind::stopped:
            return {"Shutting down"};
        case HttpExchangeFailure::Kind::broken:
            break;
    }
    return {sentence(fmt::format("gave no answer ({}){}", failure.reason, outcome),
                     "look whether it is a Bitcoin node that listens there")};
}

std::expected<UpstreamReply, Upstream::Failure> Upstream::taken_apart(HttpExchangeReply reply) const {
    constexpr int kNodeForbids = 403;
    constexpr int kNodeUnavailable = 503;
    if (reply.status == kNodeForbids)
        return std::unexpected(Failure{
            sentence("forbids the call (HTTP 403)", "allow it with its -rpcallowip= or -rpcwhitelist=")});
    if (reply.status == kNodeUnavailable)
        return std::unexpected(
            Failure{sentence("is too busy (HTTP 503)", "try again later"), kNodeUnavailable});
    auto answer = decode_upstream_answer(std::move(reply.body), kId);
    if (!answer) {
        return std::unexpected(Failure{
            sentence(fmt::format("gave no answer (HTTP {}, {})", reply.status, answer.error().context),
                     "look whether it is a Bitcoin node that listens there")});
    }
    return UpstreamReply{.result = std::move(answer->result),
                         .error = std::move(answer->error),
                         .code = answer->code,
                         .status = reply.status};
}

std::expected<UpstreamReply, Upstream::Failure> Upstream::call(std::string_view method, JsonValue parameters,
                                                               std::chrono::seconds limit,
                                                               const std::function<bool()>& departed) {
    constexpr int kUnauthorized = 401;
    if (hangs()) {
        return std::unexpected(
            Failure{sentence("has stopped answering", "look into its log, and try again in a moment")});
    }
    const Time deadline = std::chrono::steady_clock::now() + limit;
    const std::string body = request_body(method, parameters);
    std::string login = login_other_than({});
    if (login.empty()) return std::unexpected(no_login(false));
    auto reply = exchange(login, body, deadline, departed);
    if (reply && reply->status == kUnauthorized) {
        login = login_other_than(login);
        if (login.empty()) return std::unexpected(no_login(true));
        log_.debug("the node at {} refuses the cookie: trying the one that is there now",
                   options_.url.shown());
        reply = exchange(login, body, deadline, departed);
    }
    if (!reply) return std::unexpected(no_reply(reply.error(), limit));
    if (reply->status == kUnauthorized) return std::unexpected(no_login(true));
    return taken_apart(std::move(*reply));
}

}  // namespace blockpub
