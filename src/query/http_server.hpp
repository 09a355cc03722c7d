// SPDX-License-Identifier: MIT
#pragma once

#include "query/http_message.hpp"

#include <blockpub/logger.hpp>
#include <blockpub/result.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace blockpub {

/// Where a request is answered.
enum class Lane : std::uint8_t {
    here,     ///< on the network thread: what reads a snapshot and waits for nobody
    chain,    ///< what waits for the chain thread
    forward,  ///< what waits for another node
    wait,     ///< what waits for an event that may never come
    scan,     ///< what reads a whole table, for minutes: one at a time
};

/// An answer given before the body is read, after a delay that holds up nobody else.
struct HttpRefusal {
    HttpResponse response;
    std::chrono::milliseconds delay{0};
};

/// A guess at the memory of a reply that may take megabytes, before there is one.
inline constexpr std::size_t kLargeReply = std::size_t{4} << 20;

/// Work that gives the answer later, on another lane.
struct HttpJob {
    Lane lane = Lane::chain;
    std::function<HttpResponse()> run;  ///< must not throw
    /// Memory that the reply may take, roughly. Not 0: begins only when the replies that are being made or
    /// sent leave room.
    std::size_t reply_bytes = 0;
};

using HttpAnswer = std::variant<HttpResponse, HttpJob>;

/// Answers requests.
/// Thread safety: called from several network threads at once. The server promises: for one request `admit`
/// first, then, if it was let in and its body is whole, `answer`; one request of a connection at a time. The
/// request stays until the answer is there, that of a job included. Blocking: must not wait.
class HttpService {
 public:
    virtual ~HttpService() = default;
    /// Called with the head alone. Nothing: let in.
    [[nodiscard]] virtual std::optional<HttpRefusal> admit(HttpRequest& request) = 0;
    [[nodiscard]] virtual HttpAnswer answer(HttpRequest& request) = 0;
};

struct HttpEndpoint {
    std::string host;        ///< a numeric address or a name; empty for every address
    std::uint16_t port = 0;  ///< 0: the system chooses
    bool optional = false;   ///< passed over where the system lacks the address (no IPv6)
};

struct HttpServerOptions {
    std::vector<HttpEndpoint> endpoints;
    unsigned threads = 4;
    std::chrono::milliseconds timeout{30'000};  ///< a connection without progress for so long is closed
    /// For the whole head of a request, on a connection that has not shown a password yet.
    std::chrono::milliseconds head_timeout{10'000};
    /// A client beyond them takes the place of one that is idle and has shown no password, or waits.
    std::size_t max_connections = 512;
    std::size_t max_body = 0x02000000;  ///< larger request bodies are refused
    std::size_t body_budget = std::size_t{128}
                              << 20;  ///< of all bodies over 64 KiB at once; others wait unread
    std::size_t reply_budget = std::size_t{256} << 20;  ///< of replies in memory; further large ones wait
    std::size_t chain_threads = 4;
    std::size_t forward_threads = 8;
    std::size_t wait_threads = 32;
};

/// A copy of one moment.
struct HttpServerStatus {
    std::uint64_t connections = 0;  ///< open just now
    std::uint64_t accepted = 0;
    std::uint64_t requests = 0;
    std::uint64_t malformed = 0;
    std::uint64_t timeouts = 0;     ///< closed for making no progress
    std::uint64_t evicted = 0;      ///< closed while idle, to make room for others
    std::uint64_t reply_bytes = 0;  ///< memory of replies being made or sent just now
};

/// Serves HTTP/1.1 (and 1.0) on some addresses.
///
/// A connection is answered in order, one request at a time, and is not read from meanwhile: what a client
/// sends ahead waits in its socket. Replies go straight from their buffers to the socket.
///
/// Thread safety: every method from any thread.
/// Ownership: borrows the service and the logger, which must outlive it.
/// Blocking: `stop` for at most `grace` and half a second; the destructor also for jobs that are still
/// running. Errors: busy (address taken), invalid_argument (no such address), io.
class HttpServer {
 public:
    /// Binds and listens; nobody is answered before start.
    [[nodiscard]] static Result<std::unique_ptr<HttpServer>> listen(HttpServerOptions options,
                                                                    HttpService& service, Logger& logger);
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    void start();
    /// Closes the listeners and idle connections at once, the others behind the reply they wait for or after
    /// `grace`.
    void stop(std::chrono::milliseconds grace);
    /// `address:port` of each listener, IPv6 in brackets.
    [[nodiscard]] std::vector<std::string> addresses() const;
    [[nodiscard]] std::uint16_t port() const;  ///< of the first listener
    [[nodiscard]] HttpServerStatus status() const;

 private:
    struct Impl;
    explicit HttpServer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace blockpub
