// SPDX-License-Identifier: MIT
#pragma once

#include "base/log.hpp"
#include "base/mutex.hpp"
#include "query/active_calls.hpp"
#include "query/http_server.hpp"
#include "query/rpc_method.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
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
/// Source: Bitcoin Core v28 src/httprpc.cpp, src/rpc/request.cpp. Differs: an element of a batch that is no
/// object is answered with a null id instead of the id before it.
class RpcDispatcher {
 public:
    explicit RpcDispatcher(Logger& logger) : log_(&logger, LogCategory::rpc) {}

    /// Until the methods are there every call is answered with -28 and this text.
    void set_warmup(std::string text) BLOCKPUB_EXCLUDES(mutex_);
    void set_ready(std::unique_ptr<const RpcMethods> methods);

    [[nodiscard]] const ActiveCalls& active_calls() const { return active_; }

    /// Answers one request body; takes the body out of the request.
    [[nodiscard]] HttpAnswer answer(HttpRequest& request) const;

 private:
    struct Envelope;
    [[nodiscard]] HttpResponse execute(JsonValue root, const std::string& user) const;
    [[nodiscard]] HttpResponse execute_one(JsonValue request, const std::string& user) const;
    [[nodiscard]] HttpResponse execute_batch(JsonValue batch, const std::string& user) const;
    /// Writes the reply object. Result: the error it carries, if any.
    [[nodiscard]] RpcOutcome reply(JsonWriter& writer, const Envelope& envelope,
                                   const std::string& user) const;
    [[nodiscard]] RpcOutcome call(JsonWriter& writer, const Envelope& envelope,
                                  const std::string& user) const;
    [[nodiscard]] Lane lane_of(JsonValue root) const;
    [[nodiscard]] const RpcMethods* methods() const { return ready_.load(std::memory_order_acquire); }

    const Log log_;
    mutable ActiveCalls active_;
    std::atomic<const RpcMethods*> ready_{nullptr};
    std::unique_ptr<const RpcMethods> methods_;  // written once, before ready_
    mutable Mutex mutex_;
    std::string warmup_ BLOCKPUB_GUARDED_BY(mutex_) = "RPC server started";
};

}  // namespace blockpub
