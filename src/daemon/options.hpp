// SPDX-License-Identifier: MIT
#pragma once

#include "chain/chain.hpp"
#include "daemon/listen_settings.hpp"
#include "daemon/log_file.hpp"
#include "daemon/mempool_settings.hpp"
#include "daemon/settings.hpp"
#include "notify/zmq_options.hpp"
#include "primitives/chain_params.hpp"
#include "source/p2p_address.hpp"
#include "source/xor_key.hpp"

#include <blockpub/result.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace blockpub {

/// JSON-RPC as configured; what the fields mean stands with the options of the same names.
struct RpcOptions {
    bool server = true;
    std::uint16_t port = 0;  ///< 0: the system chooses
    std::vector<std::string> bind;
    std::vector<std::string> allow_ip;
    std::optional<std::string> user;
    std::optional<std::string> password;
    std::vector<std::string> auth;
    std::filesystem::path cookie_file;
    std::string cookie_perms = "owner";
    std::size_t threads = 4;
    std::chrono::seconds timeout{30};
    std::chrono::seconds head_timeout{10};
    std::size_t max_connections = 4096;  ///< no more than the limit on open files leaves for them
    std::size_t max_request = std::size_t{32} << 20;
    std::size_t request_buffer = std::size_t{128} << 20;
    std::size_t reply_buffer = std::size_t{256} << 20;
    bool rest = false;
    std::vector<std::string> whitelist;
    bool whitelist_default = false;
    std::vector<std::string> allow_hosts;
    std::vector<std::string> cors_origins;
    std::string upstream;  ///< a secret: may hold a password
    std::filesystem::path upstream_cookie;
    std::chrono::seconds upstream_timeout{30};
};

struct CommandOptions {
    std::string block_notify;
    std::string startup_notify;
    std::string shutdown_notify;
};

/// Where blocks come from and go to at the start.
struct SourceOptions {
    std::vector<std::filesystem::path> load_block;
    std::optional<std::filesystem::path> import_blocks;
    std::optional<std::filesystem::path> export_blocks;
    std::optional<XorKey> export_key;
    bool stop_after_import = false;
    std::vector<PeerAddress> connect;   ///< nodes to follow
    std::vector<std::string> add_node;  ///< further ones, as they were given
    bool network_active = true;
    std::chrono::seconds ban_time{24 * 60 * 60};
    std::chrono::milliseconds connect_timeout{5000};
    std::chrono::milliseconds peer_timeout{60'000};
    [[nodiscard]] bool follows() const { return !connect.empty() || !add_node.empty(); }
    bool blocks_only = false;  ///< no transactions of peers
    [[nodiscard]] bool any() const { return !load_block.empty() || import_blocks.has_value(); }
};

/// All that a node is started with: one value for each option, defaults filled in, ranges checked.
/// Units: bytes and seconds.
struct NodeOptions {
    const ChainParams* params = nullptr;
    std::filesystem::path datadir;
    bool datadir_given = false;       ///< then it must exist; else it is made
    std::filesystem::path chain_dir;  ///< where this chain's files are
    std::string config_file;          ///< the one that was read; empty for none
    std::filesystem::path pid_file;
    bool daemonize = false;
    bool daemon_wait = false;
    LogOptions log;
    CommandOptions commands;
    SourceOptions sources;
    ListenSettings listen;
    RpcOptions rpc;
    MempoolSettings mempool;
    std::vector<ZmqOption> zmq;

    std::int64_t mocktime = 0;
    Uint256 minimum_chainwork;
    std::chrono::seconds max_tip_age{24 * 60 * 60};
    std::uint64_t waiting_limit = std::uint64_t{4} << 30;
    std::uint64_t segment_bytes = std::uint64_t{128} << 20;
    std::uint64_t map_bytes = std::uint64_t{1} << 40;
    std::uint64_t min_free_disk = std::uint64_t{50} << 20;
    std::uint64_t coin_bytes = std::uint64_t{450} << 20;
    bool tx_index = false;  ///< -txindex
    PruneOptions prune;
    bool start_at_tip = false;  ///< -startat=tip
    std::size_t open_segments = 128;
    std::size_t block_cache_bytes = std::size_t{64} << 20;
    std::size_t event_memory = std::size_t{64} << 20;

    std::string version;                ///< as the RPC tells it
    std::vector<std::string> warnings;  ///< for the log, in order
    std::vector<std::string> given;     ///< what was given, for the log, secrets left out
};

/// Defaults for a chain in a data directory, as if nothing else had been given.
[[nodiscard]] NodeOptions default_options(const ChainParams& params, const std::filesystem::path& datadir);

/// Reads the configuration files that `command_line` leads to, and makes options of it all.
/// Errors: invalid_argument and io, one sentence that says what to mend.
[[nodiscard]] Result<NodeOptions> read_options(const Settings& command_line);

}  // namespace blockpub
