// SPDX-License-Identifier: MIT
#pragma once

#include "base/log.hpp"
#include "base/mutex.hpp"
#include "query/active_calls.hpp"
#include "query/http_server.hpp"
#include "query/rpc_method.hpp"
#include "query/rpc_whitelist.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace blockpub {

/// The methods of a server, by name; constant.
class RpcMethods {
 public:
    /// Requires: names are unique.
    explicit RpcMethods(std::vector<RpcMethod> methods);

    /// Null when there is none.
    [[nodiscard]] const RpcMethod* find(std::string_view name) const;
    [[nodiscard]] const std::vector<RpcMethod>& all() const { return methods_; }
    /// The list of all methods by section, or one method's page; without a final LF.
    [[nodiscard]] std::string help(std::string_view name) const;

 private:
    std::vector<RpcMethod> methods_;  // by category, then name
    std::unordered_map<std::string_view, const RpcMethod*> by_name_;
};

/// JSON-RPC 1.0, 1.1 and 2.0 over HTTP, with bitcoind's error objects and status codes.
///
/// Thread safety: every method from any thread; set_ready once.
/// Blocking: never; methods that wait are given back as a job.
/// Units: `batch_limit` in bytes: of the text of a batch's replies, beyond which the batch is refused.
/// Source: Bitcoin Core v28 src/httprpc.cpp, src/rpc/request.cpp.
class RpcDispatcher {
 public:
    explicit RpcDispatcher(Logger& logger, RpcWhitelist whitelist = {},
                           std::size_t batch_limit = std::size_t{128} << 20)
        : log_(&logger, LogCategory::rpc), whitelist_(std::move(whitelist)), batch_limit_(batch_limit) {}

    /// Until the methods are there every call is answered with -28 and this text.
    void set_warmup(std::string text) BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] std::string warmup() const BLOCKPUB_EXCLUDES(mutex_);
    /// Null until set_ready.
    [[nodiscard]] const RpcMethods* methods() const { return ready_.load(std::memory_order_acquire); }
    void set_ready(std::unique_ptr<const RpcMethods> methods);

    [[nodiscard]] const ActiveCalls& active_calls() const { return active_; }

    /// Answers one request body; takes the body out of the request.
    [[nodiscard]] HttpAnswer answer(HttpRequest& request) const;

 private:
    struct Envelope;
    [[nodiscard]] HttpResponse execute(JsonValue root, const HttpRequest& from) const;
    [[nodiscard]] HttpResponse execute_one(JsonValue request, const HttpRequest& from) const;
    [[nodiscard]] HttpResponse execute_batch(JsonValue batch, const HttpRequest& from) const;
    /// Writes the reply object. Result: the error it carries, if any.
    [[nodiscard]] RpcOutcome reply(JsonWriter& writer, const Envelope& envelope,
                                   const HttpRequest& from) const;
    [[nodiscard]] RpcOutcome call(JsonWriter& writer, const Envelope& envelope,
                                  const HttpRequest& from) const;
    /// What a user may not call ends the request before anything is called.
    [[nodiscard]] std::optional<HttpResponse> refuse_by_whitelist(JsonValue root,
                                                                  const std::string& user) const;
    /// An error that belongs to no call.
    [[nodiscard]] static HttpResponse error_response(int status, const RpcError& error);
    [[nodiscard]] HttpResponse refuse_batch() const;
    struct Plan {
        Lane lane = Lane::here;
        bool large = false;
    };
    [[nodiscard]] Plan plan_of(JsonValue root) const;

    const Log log_;
    mutable ActiveCalls active_;
    const RpcWhitelist whitelist_;
    const std::size_t batch_limit_;
    std::atomic<const RpcMethods*> ready_{nullptr};
    std::unique_ptr<const RpcMethods> methods_;  // written once, before ready_
    mutable Mutex mutex_;
    std::string warmup_ BLOCKPUB_GUARDED_BY(mutex_) = "RPC server started";
};

}  // namespace blockpub
