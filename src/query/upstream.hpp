// SPDX-License-Identifier: MIT
#pragma once

#include "base/log.hpp"
#include "base/mutex.hpp"
#include "query/http_exchange.hpp"
#include "query/json_reader.hpp"
#include "query/upstream_url.hpp"

#include <blockpub/logger.hpp>

#include <chrono>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace blockpub {

struct UpstreamOptions {
    UpstreamUrl url;
    std::filesystem::path cookie_path;  ///< read where the URL has no login
    std::chrono::seconds timeout{30};   ///< for a whole answer
};

/// What became of a call that was passed on.
struct UpstreamReply {
    std::string result;  ///< as the node wrote it; empty when the call failed
    std::string error;   ///< the node's error object likewise
    int code = 0;        ///< of the error
    int status = 200;    ///< of HTTP
};

/// The node that some calls are passed on to.
///
/// Each call has a connection of its own. The login is the URL's, or what the node's cookie holds, which is
/// read anew when the node refuses it: a node makes another at each start. While the node does not answer in
/// time, further calls fail at once for a moment, so that those that wait for a thread do not wait in vain
/// one after the other.
///
/// Thread safety: every method from any thread.
/// Blocking: `call` until the node has answered, or for the time limit.
/// Errors: in words that name the address and a remedy, never the login. `status` is what fits them: 0, or
/// 503 for a node that is too busy.
class Upstream {
 public:
    struct Failure {
        std::string sentence;
        int status = 0;
    };

    Upstream(UpstreamOptions options, std::function<bool()> stopping, Logger& logger)
        : options_(std::move(options)), stopping_(std::move(stopping)), log_(&logger, LogCategory::rpc) {}

    /// `parameters`: a list, an object or null, passed on as they are. `limit`: in place of the time limit,
    /// for calls that are meant to wait. `departed`: whether nobody waits for the answer any more; may be
    /// empty.
    [[nodiscard]] std::expected<UpstreamReply, Failure> call(std::string_view method, JsonValue parameters,
                                                             std::chrono::seconds limit,
                                                             const std::function<bool()>& departed)
        BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] std::chrono::seconds timeout() const { return options_.timeout; }
    [[nodiscard]] const UpstreamUrl& url() const { return options_.url; }

 private:
    using Time = std::chrono::steady_clock::time_point;
    using Exchanged = std::expected<HttpExchangeReply, HttpExchangeFailure>;

    /// The cookie, read anew when there is none yet or when it is the one that was refused. Result: empty
    /// when there is no other.
    [[nodiscard]] std::string login_other_than(std::string_view refused) BLOCKPUB_EXCLUDES(mutex_);
    [[nodiscard]] Exchanged exchange(std::string_view login, const std::string& body, Time deadline,
                                     const std::function<bool()>& departed) const;
    [[nodiscard]] Failure no_login(bool refused) const;
    [[nodiscard]] Failure no_reply(const HttpExchangeFailure& failure, std::chrono::seconds limit);
    [[nodiscard]] std::expected<UpstreamReply, Failure> taken_apart(HttpExchangeReply reply) const;
    [[nodiscard]] std::string sentence(std::string_view what, std::string_view remedy) const;
    [[nodiscard]] bool hangs() const BLOCKPUB_EXCLUDES(mutex_);

    // Constant after construction.
    const UpstreamOptions options_;
    const std::function<bool()> stopping_;
    const Log log_;

    mutable Mutex mutex_;
    std::string cookie_ BLOCKPUB_GUARDED_BY(mutex_);
    Time hangs_until_ BLOCKPUB_GUARDED_BY(mutex_);
};

}  // namespace blockpub
