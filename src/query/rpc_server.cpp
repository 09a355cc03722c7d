// SPDX-License-Identifier: MIT
#include "query/rpc_server.hpp"

#include "base/check.hpp"
#include "query/http_cross_origin.hpp"
#include "query/http_router.hpp"
#include "query/rest_service.hpp"
#include "query/rpc_dispatch.hpp"
#include "query/rpc_forwarding.hpp"
#include "query/rpc_service.hpp"
#include "query/rpc_warnings.hpp"
#include "query/tip_waiter.hpp"
#include "query/upstream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <mutex>
#include <optional>
#include <utility>

namespace blockpub {

namespace {

constexpr std::chrono::milliseconds kStopGrace{4000};
constexpr std::chrono::seconds kDefaultTimeout{30};

/// Splits `host`, `host:port`, `[v6]:port` or a bare IPv6 address.
Result<HttpEndpoint> endpoint_from(std::string_view text, std::uint16_t default_port) {
    HttpEndpoint endpoint{.host = {}, .port = default_port};
    std::string_view host = text;
    const std::size_t colon = text.rfind(':');
    const bool bracketed = text.starts_with('[');
    const bool has_port = colon != std::string_view::npos &&
                          (bracketed ? colon > 0 && text[colon - 1] == ']' : text.find(':') == colon);
    if (has_port) {
        const std::string_view digits = text.substr(colon + 1);
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), endpoint.port);
        if (error != std::errc() || end != digits.data() + digits.size() || endpoint.port == 0) {
            return fail(Errc::invalid_argument, fmt::format("-rpcbind={}: not a port", text));
        }
        host = text.substr(0, colon);
    }
    if (bracketed) {
        if (!host.ends_with(']'))
            return fail(Errc::invalid_argument, fmt::format("-rpcbind={}: not an address", text));
        host = host.substr(1, host.size() - 2);
    }
    endpoint.host = std::string(host);
    return endpoint;
}

struct Listening {
    std::vector<HttpEndpoint> endpoints;
    std::vector<Subnet> allowed;
    std::vector<std::string> warnings;
};

/// Where to listen and for whom. Both -rpcbind and -rpcallowip must be given to listen beyond loopback: one
/// alone is more often a slip than a wish.
Result<Listening> listening_from(const RpcServerOptions& options) {
    Listening listening;
    for (const std::string& text : options.allow_ip) {
        auto subnet = Subnet::parse(text);
        if (!subnet) return fail(subnet.error().code, "-rpcallowip: " + subnet.error().context);
        listening.allowed.push_back(*subnet);
    }
    if (options.bind.empty() || options.allow_ip.empty()) {
        listening.endpoints = {{.host = "127.0.0.1", .port = options.port},
                               {.host = "::1", .port = options.port, .optional = true}};
        if (!options.bind.empty()) {
            listening.warnings.push_back(
                "-rpcbind is ignored: without -rpcallowip nobody but this machine could call");
        }
        if (!options.allow_ip.empty()) {
            listening.warnings.push_back(
                "-rpcallowip without -rpcbind: RPC listens on this machine's loopback addresses alone");
        }
        return listening;
    }
    for (const std::string& text : options.bind) {
        auto endpoint = endpoint_from(text, options.port);
        if (!endpoint) return forward_error(endpoint);
        const auto address = IpAddress::parse(endpoint->host);
        if (endpoint->host.empty() || (address && !address->is_loopback())) {
            listening.warnings.push_back(
                fmt::format("-rpcbind={}: passwords and answers cross the network unencrypted; the RPC "
                            "server is not made for untrusted networks",
                            text));
        }
        listening.endpoints.push_back(std::move(*endpoint));
    }
    return listening;
}

Result<RpcAuth> auth_from(const RpcServerOptions& options) {
    RpcAuth auth;
    if (!options.password.empty()) auth.add_password(options.user, options.password);
    for (const std::string& value : options.hashed_passwords) {
        if (auto added = auth.add_hashed(value); !added) return forward_error(added);
    }
    return auth;
}

/// The node that calls are passed on to; null without one.
Result<std::unique_ptr<Upstream>> upstream_from(const RpcServerOptions& options,
                                                std::function<bool()> stopping, Logger& logger,
                                                std::vector<std::string>& warnings) {
    if (options.upstream.empty()) return nullptr;
    auto url = parse_upstream_url(options.upstream, options.upstream_port);
    if (!url) return fail(url.error().code, fmt::format("-upstreamrpc: {}", url.error().context));
    if (!url->is_loopback()) {
        warnings.push_back(fmt::format(
            "-upstreamrpc: passwords and transactions cross the network to {} unencrypted", url->host));
    }
    Log(&logger, LogCategory::rpc)
        .info(
            "estimatesmartfee, getblocktemplate, sendrawtransaction, submitpackage and testmempoolaccept "
            "are passed on to {}{}",
            url->shown(), url->login ? "" : ", cookie " + options.upstream_cookie.string());
    return std::make_unique<Upstream>(UpstreamOptions{.url = std::move(*url),
                                                      .cookie_path = options.upstream_cookie,
                                                      .timeout = options.upstream_timeout},
                                      std::move(stopping), logger);
}

}  // namespace

struct RpcServer::Impl {
    Impl(const RpcServerOptions& options, Logger& logger)
        : policy(options.allow_hosts, options.cors_origins),
          dispatcher(logger, RpcWhitelist(options.whitelist, options.whitelist_default),
                     options.reply_buffer / 2) {}

    std::vector<std::string> warnings;
    RpcContext context;
    const OriginPolicy policy;
    RpcDispatcher dispatcher;
    std::optional<RpcService> rpc;
    std::optional<RestService> rest;
    HttpRouter router;
    CrossOriginService cross_origin{router, policy};
    std::optional<AddressFilter> filter;
    std::optional<RpcCookie> cookie;
    UnreadableBlocks unreadable;
    std::unique_ptr<TipWaiter> tip_waiter;
    std::unique_ptr<Upstream> upstream;
    std::once_flag stopped;
    std::atomic<bool> stopping{false};
    std::unique_ptr<HttpServer> http;  // its threads use all of the above
};

RpcServer::RpcServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

RpcServer::~RpcServer() {
    stop();
}

Result<std::unique_ptr<RpcServer>> RpcServer::listen(RpcServerOptions options, Logger& logger) {
    auto listening = listening_from(options);
    if (!listening) return forward_error(listening);
    auto auth = auth_from(options);
    if (!auth) return forward_error(auth);

    for (const std::string& origin : options.cors_origins) {
        if (is_origin(origin)) continue;
        return fail(
            Errc::invalid_argument,
            fmt::format("-corsorigin={}: give scheme and host, and the port if it is not the scheme's own, "
                        "as https://app.example or http://localhost:3000",
                        origin));
    }

    auto impl = std::make_unique<Impl>(options, logger);
    impl->warnings = std::move(listening->warnings);
    HttpService& front =
        impl->policy.names_origins() ? static_cast<HttpService&>(impl->cross_origin) : impl->router;
    auto upstream = upstream_from(
        options, [stopping = &impl->stopping] { return stopping->load(); }, logger, impl->warnings);
    if (!upstream) return forward_error(upstream);
    impl->upstream = std::move(*upstream);
    impl->filter.emplace(front, std::move(listening->allowed));
    auto http =
        HttpServer::listen({.endpoints = std::move(listening->endpoints),
                            .threads = std::max(options.threads, 1u),
                            .timeout = options.timeout.count() > 0 ? options.timeout : kDefaultTimeout,
                            .head_timeout = options.head_timeout,
                            .max_connections = options.max_connections,
                            .max_body = options.max_request,
                            .body_budget = std::max(options.request_buffer, options.max_request),
                            .reply_budget = options.reply_buffer},
                           *impl->filter, logger);
    if (!http) return forward_error(http);
    impl->http = std::move(*http);

    // Only now: a start that fails because another daemon has the port must leave that daemon's cookie alone.
    if (options.password.empty() && !options.cookie_path.empty()) {
        auto cookie = RpcCookie::create(options.cookie_path, options.cookie_access);
        if (!cookie) return forward_error(cookie);
        auth->add_password(std::string(RpcCookie::kUser), cookie->password());
        impl->cookie.emplace(std::move(*cookie));
    }
    impl->rpc.emplace(impl->dispatcher, std::move(*auth), logger);
    impl->router.add("/", true, *impl->rpc);
    if (options.rest) {
        impl->rest.emplace(impl->dispatcher, impl->context, impl->policy);
        impl->router.add("/rest/", false, *impl->rest);
    }
    impl->http->start();
    return std::unique_ptr<RpcServer>(new RpcServer(std::move(impl)));
}

void RpcServer::set_warmup(std::string text) {
    impl_->dispatcher.set_warmup(std::move(text));
}

void RpcServer::set_ready(RpcContext context) {
    impl_->context = std::move(context);
    impl_->context.http_status = [http = impl_->http.get()] { return http->status(); };
    impl_->context.stopping = [stopping = &impl_->stopping] { return stopping->load(); };
    impl_->context.active_calls = &impl_->dispatcher.active_calls();
    impl_->context.unreadable = &impl_->unreadable;
    if (impl_->context.bus != nullptr) {
        impl_->tip_waiter = std::make_unique<TipWaiter>(*impl_->context.store, *impl_->context.bus);
        impl_->context.tip_waiter = impl_->tip_waiter.get();
    }
    std::vector<RpcMethod> methods;
    add_block_methods(methods, impl_->context);
    add_block_stats_methods(methods, impl_->context);
    add_chain_methods(methods, impl_->context);
    add_chain_stats_methods(methods, impl_->context);
    add_coin_methods(methods, impl_->context);
    add_control_methods(methods, impl_->context);
    add_decoding_methods(methods, impl_->context);
    add_deployment_methods(methods, impl_->context);
    add_generating_methods(methods, impl_->context);
    add_mempool_methods(methods, impl_->context);
    add_scanning_methods(methods, impl_->context);
    add_prioritising_methods(methods, impl_->context);
    add_sending_methods(methods, impl_->context);
    add_mining_methods(methods, impl_->context);
    add_network_methods(methods, impl_->context);
    add_process_methods(methods, impl_->context);
    add_proof_methods(methods, impl_->context);
    add_pruning_methods(methods, impl_->context);
    add_raw_transaction_methods(methods, impl_->context);
    add_status_methods(methods, impl_->context);
    add_submitting_methods(methods, impl_->context);
    add_waiting_methods(methods, impl_->context);
    if (impl_->upstream) forward_methods(methods, *impl_->upstream);
    impl_->dispatcher.set_ready(std::make_unique<const RpcMethods>(std::move(methods)));
}

void RpcServer::stop() {
    // Who comes second waits for the first: the cookie is let go once.
    impl_->stopping = true;
    std::call_once(impl_->stopped, [this] {
        if (impl_->tip_waiter) impl_->tip_waiter->stop();
        impl_->http->stop(kStopGrace);
        impl_->cookie.reset();
    });
}

std::vector<std::string> RpcServer::addresses() const {
    return impl_->http->addresses();
}
std::uint16_t RpcServer::port() const {
    return impl_->http->port();
}
const std::vector<std::string>& RpcServer::warnings() const {
    return impl_->warnings;
}
HttpServerStatus RpcServer::status() const {
    return impl_->http->status();
}

}  // namespace blockpub
