// SPDX-License-Identifier: MIT
#pragma once

#include "query/rpc_auth.hpp"
#include "query/rpc_context.hpp"

#include <blockpub/logger.hpp>
#include <blockpub/result.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace blockpub {

/// The options of bitcoind that bear the names given here.
struct RpcServerOptions {
    std::uint16_t port = 0;  ///< -rpcport; 0: the system chooses
    std::vector<std::string>
        bind;  ///< -rpcbind: addresses, a port may follow; loopback when empty or without allow_ip
    std::vector<std::string> allow_ip;      ///< -rpcallowip: beside loopback, which always may
    unsigned threads = 4;                   ///< -rpcthreads
    std::chrono::seconds timeout{30};       ///< -rpcservertimeout: of a connection that makes no progress
    std::chrono::seconds head_timeout{10};  ///< -rpcheadtimeout
    std::size_t max_connections = 512;      ///< -rpcconnections, within the budget of descriptors
    std::size_t max_request = 0x02000000;   ///< -rpcmaxrequest, in bytes
    std::size_t request_buffer = std::size_t{128} << 20;  ///< -rpcrequestbuffer, in bytes
    std::size_t reply_buffer = std::size_t{256} << 20;    ///< -rpcbuffer, in bytes
    bool rest = false;                                    ///< -rest
    std::vector<std::string> allow_hosts;                 ///< -rpcallowhost
    std::vector<std::string> cors_origins;                ///< -corsorigin
    std::vector<std::string> whitelist;                   ///< -rpcwhitelist
    bool whitelist_default = false;                       ///< -rpcwhitelistdefault
    std::string upstream;                                 ///< -upstreamrpc; empty: calls are not passed on
    std::uint16_t upstream_port = 0;                      ///< where that names none
    std::filesystem::path upstream_cookie;                ///< -upstreamcookiefile, resolved
    std::chrono::seconds upstream_timeout{30};            ///< -upstreamtimeout
    std::string user;                                     ///< -rpcuser
    std::string password;                       ///< -rpcpassword; the cookie is not made when there is one
    std::vector<std::string> hashed_passwords;  ///< -rpcauth
    std::filesystem::path cookie_path;          ///< -rpccookiefile, resolved
    CookieAccess cookie_access = CookieAccess::owner;  ///< -rpccookieperms
};

/// The JSON-RPC server of the daemon.
///
/// Listens before there is a store: every call is answered with -28 until set_ready.
/// Thread safety: every method from any thread.
/// Ownership: borrows the logger and, from set_ready on, all that the context points to. To be destroyed
/// after Chain::stop (calls that wait for the chain end with it) and before the chain. Blocking: `stop` for
/// at most 5 seconds, whatever clients and calls do; the destructor for calls under way.
class RpcServer {
 public:
    /// Binds, writes the cookie, begins to answer.
    /// Errors: busy (port taken: the context says what to do), invalid_argument (the option is named), io.
    [[nodiscard]] static Result<std::unique_ptr<RpcServer>> listen(RpcServerOptions options, Logger& logger);
    ~RpcServer();
    RpcServer(const RpcServer&) = delete;
    RpcServer& operator=(const RpcServer&) = delete;

    /// The text of the error -28, such as "Loading block index…".
    void set_warmup(std::string text);
    /// Begins to answer calls. Requires: not called before.
    void set_ready(RpcContext context);
    /// Closes listeners and idle connections, gives calls under way a bounded time, removes the cookie.
    void stop();

    [[nodiscard]] std::vector<std::string> addresses() const;
    [[nodiscard]] std::uint16_t port() const;
    /// Sentences about options that were ignored or are dangerous.
    [[nodiscard]] const std::vector<std::string>& warnings() const;
    [[nodiscard]] HttpServerStatus status() const;

 private:
    struct Impl;
    explicit RpcServer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace blockpub
