// SPDX-License-Identifier: MIT
#include "query/http_server.hpp"

#include "base/socket_address.hpp"
#include "base/thread.hpp"
#include "query/http_connection.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>  // before Asio, which relies on it

namespace blockpub {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr int kBacklog = 1024;
constexpr std::chrono::milliseconds kAcceptRetry{100};  // out of descriptors
constexpr std::chrono::milliseconds kCutGrace{500};

SocketAddress address_of(const tcp::endpoint& endpoint) {
    return SocketAddress::of(endpoint.data(), endpoint.size());
}

}  // namespace

struct HttpServer::Impl {
    Impl(HttpServerOptions options, HttpService& service, Logger& logger)
        : core(std::move(options), service, logger),
          context(static_cast<int>(core.options.threads)),
          work(asio::make_work_guard(context)),
          sweep_timer(context),
          retry_timer(context),
          chain_pool("rpc-chain", core.options.chain_threads),
          forward_pool("rpc-forward", core.options.forward_threads),
          wait_pool("rpc-wait", core.options.wait_threads),
          scan_pool("rpc-scan", 1) {
        core.chain_pool = &chain_pool;
        core.forward_pool = &forward_pool;
        core.wait_pool = &wait_pool;
        core.scan_pool = &scan_pool;
        core.connection_closed = [this] { resume_accepting(); };
    }

    Result<void> bind(const HttpEndpoint& endpoint);
    Result<void> bind_address(const HttpEndpoint& endpoint, const asio::ip::address& address);
    void accept_on(tcp::acceptor& acceptor) BLOCKPUB_REQUIRES(accept_mutex);
    void accepted(tcp::acceptor& acceptor, const error_code& error, tcp::socket socket);
    void begin_connection(tcp::socket socket, const tcp::endpoint& peer);
    void await_client(tcp::acceptor& acceptor) BLOCKPUB_REQUIRES(accept_mutex);
    void make_room();
    void resume_accepting();
    void sweep();
    void serve();

    HttpCore core;  // connections may live as long as the context, and tell of their end
    Mutex accept_mutex;
    std::vector<tcp::acceptor*> paused BLOCKPUB_GUARDED_BY(accept_mutex);
    bool client_waits BLOCKPUB_GUARDED_BY(accept_mutex) = false;  // and there is no room
    bool closed BLOCKPUB_GUARDED_BY(accept_mutex) = false;

    asio::io_context context;
    asio::executor_work_guard<asio::io_context::executor_type> work;
    asio::steady_timer sweep_timer;
    asio::steady_timer retry_timer;
    std::vector<std::string> names;
    std::uint16_t first_port = 0;

    std::vector<std::unique_ptr<tcp::acceptor>> acceptors BLOCKPUB_GUARDED_BY(accept_mutex);
    std::vector<std::jthread> threads;
    WorkerPool chain_pool;  // its tasks hold connections: gone before the context
    WorkerPool forward_pool;
    WorkerPool wait_pool;
    WorkerPool scan_pool;

    void stop_pools() {
        chain_pool.stop();
        forward_pool.stop();
        wait_pool.stop();
        scan_pool.stop();
    }
};

Result<void> HttpServer::Impl::bind_address(const HttpEndpoint& endpoint, const asio::ip::address& address) {
    const tcp::endpoint where(address, endpoint.port);
    auto acceptor = std::make_unique<tcp::acceptor>(context);
    error_code error;
    acceptor->open(where.protocol(), error);
    if (!error) acceptor->set_option(tcp::acceptor::reuse_address(true), error);
    if (!error && address.is_v6()) acceptor->set_option(asio::ip::v6_only(true), error);
    if (!error) acceptor->bind(where, error);
    if (!error) acceptor->listen(kBacklog, error);
    const bool lacking = error == asio::error::address_family_not_supported ||
                         error == asio::error::no_protocol_option || error.value() == EADDRNOTAVAIL;
    if (error && lacking && endpoint.optional) return {};
    if (error == asio::error::address_in_use) {
        return fail(Errc::busy,
                    fmt::format("cannot listen for RPC on {}: the port is taken; is bitcoind using it? give "
                                "-rpcport=<another port>",
                                address_of(where).text()));
    }
    if (error)
        return fail(Errc::io, fmt::format("cannot listen for RPC on {}: {}", address_of(where).text(),
                                          error.message()));
    const tcp::endpoint bound = acceptor->local_endpoint(error);
    if (first_port == 0) first_port = bound.port();
    names.push_back(address_of(bound).text());
    MutexLock lock(accept_mutex);
    acceptors.push_back(std::move(acceptor));
    return {};
}

Result<void> HttpServer::Impl::bind(const HttpEndpoint& endpoint) {
    error_code error;
    if (endpoint.host.empty()) {
        if (auto bound = bind_address({.host = {}, .port = endpoint.port, .optional = true},
                                      asio::ip::address_v6::any());
            !bound)
            return bound;
        const std::uint16_t port = endpoint.port == 0 ? first_port : endpoint.port;
        return bind_address({.host = {}, .port = port, .optional = false}, asio::ip::address_v4::any());
    }
    if (const auto address = asio::ip::make_address(endpoint.host, error); !error)
        return bind_address(endpoint, address);
    tcp::resolver resolver(context);
    const auto found =
        resolver.resolve(endpoint.host, std::to_string(endpoint.port), tcp::resolver::numeric_service, error);
    if (error || found.empty()) {
        return fail(Errc::invalid_argument,
                    fmt::format("cannot listen for RPC on '{}': no such address", endpoint.host));
    }
    std::vector<asio::ip::address> bound;
    for (const auto& entry : found) {
        const auto address = entry.endpoint().address();
        if (std::ranges::find(bound, address) != bound.end()) continue;
        if (auto result = bind_address(endpoint, address); !result) return result;
        bound.push_back(address);
    }
    return {};
}

void HttpServer::Impl::accept_on(tcp::acceptor& acceptor) {
    if (closed) return;
    if (core.connections.size() >= core.options.max_connections) return await_client(acceptor);
    acceptor.async_accept([this, &acceptor](const error_code& error, tcp::socket socket) {
        accepted(acceptor, error, std::move(socket));
    });
}

void HttpServer::Impl::await_client(tcp::acceptor& acceptor) {
    acceptor.async_wait(tcp::acceptor::wait_read, [this, &acceptor](const error_code& error) {
        MutexLock lock(accept_mutex);
        if (closed) return;
        if (error || core.connections.size() < core.options.max_connections) return accept_on(acceptor);
        paused.push_back(&acceptor);
        client_waits = true;
        lock.unlock();  // a connection that ends here asks for it
        make_room();
    });
}

void HttpServer::Impl::begin_connection(tcp::socket socket, const tcp::endpoint& peer) {
    const SocketAddress client = address_of(peer);
    auto connection =
        std::make_shared<HttpConnection>(std::move(socket), core, client.address, client.text());
    core.connections.add(connection.get(), connection);
    connection->start();
}

// Whoever is idle and has shown no password makes way for the client that waits, the longest idle first.
// Requires: the accept lock is free.
void HttpServer::Impl::make_room() {
    std::shared_ptr<HttpConnection> longest;
    HttpConnection::Time since;
    for (auto& connection : core.connections.all()) {
        const auto idle = connection->idle_since();
        if (!idle || (longest && since <= *idle)) continue;
        since = *idle;
        longest = std::move(connection);
    }
    if (!longest) return;
    core.evicted.fetch_add(1, std::memory_order_relaxed);
    longest->interrupt();
}

void HttpServer::Impl::serve() {
    while (true) {
        try {
            context.run();
            return;
        } catch (const std::exception& failure) {
            // The connection whose step threw went with its handler; the others go on.
            core.log.error("a connection was given up: {}", failure.what());
        }
    }
}

void HttpServer::Impl::accepted(tcp::acceptor& acceptor, const error_code& error, tcp::socket socket) {
    if (!error) {
        core.accepted.fetch_add(1, std::memory_order_relaxed);
        error_code gone;
        const tcp::endpoint peer = socket.remote_endpoint(gone);
        core.log.debug("connection {} accepted, {} open", core.accepted.load(std::memory_order_relaxed),
                       core.connections.size());
        // Without memory for it the client is dropped; the listener must go on.
        try {
            if (!gone) begin_connection(std::move(socket), peer);
        } catch (const std::exception& failure) {
            core.log.error("a connection was dropped: {}", failure.what());
        }
    }
    const bool exhausted = error == asio::error::no_descriptors || error.value() == ENFILE ||
                           error == asio::error::no_memory || error == asio::error::no_buffer_space;
    if (exhausted) core.log.warning("no descriptor left for another RPC connection; trying again");
    MutexLock lock(accept_mutex);
    if (!exhausted) return accept_on(acceptor);
    if (closed) return;
    paused.push_back(&acceptor);
    retry_timer.expires_after(kAcceptRetry);
    retry_timer.async_wait([this](const error_code& cancelled) {
        if (!cancelled) resume_accepting();
    });
}

void HttpServer::Impl::resume_accepting() {
    MutexLock lock(accept_mutex);
    client_waits = false;
    const std::vector<tcp::acceptor*> again = std::exchange(paused, {});
    for (tcp::acceptor* acceptor : again) accept_on(*acceptor);
}

void HttpServer::Impl::sweep() {
    const auto period =
        std::clamp(core.options.timeout / 4, std::chrono::milliseconds(20), std::chrono::milliseconds(1000));
    sweep_timer.expires_after(period);
    sweep_timer.async_wait([this](const error_code& error) {
        if (error) return;
        const auto now = std::chrono::steady_clock::now();
        for (const auto& connection : core.connections.all()) {
            if (connection->check_progress(now)) core.timeouts.fetch_add(1, std::memory_order_relaxed);
        }
        MutexLock lock(accept_mutex);
        const bool crowded = client_waits;
        lock.unlock();
        if (crowded) make_room();
        sweep();
    });
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<HttpServer>> HttpServer::listen(HttpServerOptions options, HttpService& service,
                                                       Logger& logger) {
    const std::vector<HttpEndpoint> endpoints = options.endpoints;
    auto impl = std::make_unique<Impl>(std::move(options), service, logger);
    for (HttpEndpoint endpoint : endpoints) {
        // Where the system chooses the port, all listeners share its choice.
        if (endpoint.port == 0) endpoint.port = impl->first_port;
        if (auto bound = impl->bind(endpoint); !bound) return forward_error(bound);
    }
    if (impl->names.empty()) return fail(Errc::invalid_argument, "no address to listen on for RPC");
    return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::~HttpServer() {
    stop(std::chrono::milliseconds(0));
    impl_->stop_pools();
}

void HttpServer::start() {
    impl_->sweep();
    {
        MutexLock lock(impl_->accept_mutex);
        for (const auto& acceptor : impl_->acceptors) impl_->accept_on(*acceptor);
    }
    for (unsigned i = 0; i < impl_->core.options.threads; ++i) {
        impl_->threads.push_back(
            start_thread(fmt::format("rpc-{}", i), [this](const std::stop_token&) { impl_->serve(); }));
    }
}

void HttpServer::stop(std::chrono::milliseconds grace) {
    if (impl_->core.stopping.exchange(true)) return;
    {
        MutexLock lock(impl_->accept_mutex);
        impl_->closed = true;
        error_code ignored;
        for (const auto& acceptor : impl_->acceptors) acceptor->close(ignored);
    }
    HttpConnections& connections = impl_->core.connections;
    for (const auto& connection : connections.all()) connection->finish_soon();
    const auto now = std::chrono::steady_clock::now();
    if (!connections.wait_until_empty(now + grace)) {
        impl_->core.budget.drop_waiters();
        impl_->core.replies.drop_waiters();
        impl_->stop_pools();
        for (const auto& connection : connections.all()) connection->interrupt();
        (void)connections.wait_until_empty(std::chrono::steady_clock::now() + kCutGrace);
    }
    impl_->work.reset();
    impl_->context.stop();
    impl_->threads.clear();  // joins
}

std::vector<std::string> HttpServer::addresses() const {
    return impl_->names;
}

std::uint16_t HttpServer::port() const {
    return impl_->first_port;
}

HttpServerStatus HttpServer::status() const {
    const HttpCore& core = impl_->core;
    return {.connections = core.connections.size(),
            .accepted = core.accepted.load(std::memory_order_relaxed),
            .requests = core.requests.load(std::memory_order_relaxed),
            .malformed = core.malformed.load(std::memory_order_relaxed),
            .timeouts = core.timeouts.load(std::memory_order_relaxed),
            .evicted = core.evicted.load(std::memory_order_relaxed),
            .reply_bytes = core.replies.held()};
}

}  // namespace blockpub
