// SPDX-License-Identifier: MIT
#include "daemon/options.hpp"

#include "daemon/option_table.hpp"
#include "daemon/setting_files.hpp"
#include "source/exporter.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace blockpub {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kSmallestSegment = 16 * kMiB;

Result<void> refuse_what_is_not_there(const Settings& settings, ChainKind chain) {
    if (chain == ChainKind::signet && settings.text("signetchallenge")) {
        return fail(Errc::invalid_argument,
                    "-signetchallenge: only the default signet is followed; leave the option out.");
    }
    return {};
}

void warn_of_no_effect(const Settings& settings, std::string_view network,
                       std::vector<std::string>& warnings) {
    std::vector<std::string> foreign = settings.foreign_names();
    const auto once = [&](std::string_view name, std::string_view sentence) {
        const bool on = settings.text(name).value_or("0") != "0";
        if (std::erase(foreign, name) != 0 && on) warnings.push_back(fmt::format("-{}: {}", name, sentence));
    };
    once("blocksdir", "blocks are kept in the data directory; move it with -datadir=<dir>.");
    once("reindex", "nothing is rebuilt; to begin anew give an empty -datadir=<dir> and import again.");
    once("alertnotify", "this version never runs it.");
    if (!foreign.empty()) {
        warnings.push_back(
            fmt::format("Options of bitcoind that blockpub has no use for: {}", fmt::join(foreign, ", ")));
    }
    for (const std::string& name : settings.ignored_network_options()) {
        warnings.push_back(
            fmt::format("Config setting for -{} only applied on {} network when in [{}] section.", name,
                        network, network));
    }
}

Result<LogOptions> log_options(const Settings& settings, const fs::path& chain_dir,
                               std::vector<std::string>& warnings) {
    LogOptions log;
    const std::string file = settings.text("debuglogfile").value_or("debug.log");
    if (!settings.negated("debuglogfile") && file != "0" && !file.empty())
        log.file = user_path(file, chain_dir);
    const bool background = settings.flag("daemon", false) || settings.flag("daemonwait", false);
    log.console = settings.flag("printtoconsole", !background);
    log.timestamps = settings.flag("logtimestamps", true);
    log.microseconds = settings.flag("logtimemicros", false);
    for (const char* option : {"debug", "debugexclude"}) {
        for (const Setting& setting : settings.list(option)) {
            const auto categories = log_categories_from_name(setting.value);
            if (!categories) {
                return fail(
                    Errc::invalid_argument,
                    fmt::format(
                        "Unsupported logging category -{}={}; there are zmq, http, rpc, chain, store, "
                        "import, bus, net and all.",
                        option, setting.value));
            }
            if (categories->none() && option == std::string_view("debug") && setting.value != "0" &&
                setting.value != "none") {
                warnings.push_back(
                    fmt::format("-debug={}: nothing here logs about that subject.", setting.value));
            }
            if (setting.value == "0" || setting.value == "none")
                log.categories.reset();
            else if (option == std::string_view("debug"))
                log.categories |= *categories;
            else
                log.categories &= ~*categories;
        }
    }
    log.shrink = settings.flag("shrinkdebugfile", log.categories.none());
    return log;
}

Result<void> chain_options(const Settings& settings, NodeOptions& options) {
    options.minimum_chainwork = options.params->minimum_chainwork;
    if (const auto given = settings.text("minimumchainwork")) {
        std::string_view digits = *given;
        if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
        const bool valid = !digits.empty() && digits.size() <= 64 &&
                           digits.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
        if (!valid) {
            return fail(
                Errc::invalid_argument,
                fmt::format("Invalid minimum work specified ({}), must be up to 64 hex digits", *given));
        }
        options.minimum_chainwork = Uint256::from_hex(digits);
    }
    options.mocktime = settings.integer("mocktime", 0);
    options.max_tip_age = std::chrono::seconds(settings.integer("maxtipage", options.max_tip_age.count()));
    return {};
}

Result<PeerAddress> node_option(const Setting& node, const ChainParams& params) {
    auto address = PeerAddress::parse(node.value, params.p2p_port);
    if (address) return address;
    return fail(address.error().code,
                fmt::format("{}={}: {}.", node.origin, node.value, address.error().context));
}

/// The nodes of -connect and -addnode. The word 0 stands for none.
Result<void> peer_options(const Settings& settings, const ChainParams& params, SourceOptions& sources) {
    for (const Setting& node : settings.list("connect")) {
        if (node.value == "0") continue;
        auto address = node_option(node, params);
        if (!address) return forward_error(address);
        sources.connect.push_back(std::move(*address));
    }
    for (const Setting& node : settings.list("addnode")) {
        if (auto address = node_option(node, params); !address) return forward_error(address);
        sources.add_node.push_back(node.value);
    }
    sources.network_active = settings.flag("networkactive", true);
    sources.ban_time = std::chrono::seconds(settings.integer("bantime", sources.ban_time.count()));
    sources.connect_timeout = std::chrono::milliseconds(settings.integer("timeout", 5000));
    sources.peer_timeout = std::chrono::seconds(settings.integer("peertimeout", 60));
    sources.blocks_only = settings.flag("blocksonly", false);
    return {};
}

Result<SourceOptions> source_options(const Settings& settings, const ChainParams& params) {
    SourceOptions sources;
    if (auto peers = peer_options(settings, params, sources); !peers) return forward_error(peers);
    for (const Setting& file : settings.list("loadblock")) {
        if (file.value.empty())
            return fail(Errc::invalid_argument, "-loadblock= names no file: give -loadblock=<file>.");
        sources.load_block.push_back(user_path(file.value, ""));
    }
    for (const char* name : {"importblocks", "exportblocks"}) {
        if (settings.text(name) != "") continue;
        return fail(Errc::invalid_argument,
                    fmt::format("-{}= names no directory: give -{}=<dir>.", name, name));
    }
    if (const auto directory = settings.text("importblocks"))
        sources.import_blocks = user_path(*directory, "");
    if (const auto directory = settings.text("exportblocks"))
        sources.export_blocks = user_path(*directory, "");
    if (const auto text = settings.text("exportkey")) {
        if (!sources.export_blocks) {
            return fail(Errc::invalid_argument, "-exportkey says nothing without -exportblocks=<dir>.");
        }
        auto key = parse_export_key(*text);
        if (!key)
            return fail(key.error().code, fmt::format("-exportkey={}: {}.", *text, key.error().context));
        sources.export_key = *key;
    }
    sources.stop_after_import = settings.flag("stopafterblockimport", false);
    return sources;
}

std::vector<std::string> values(const Settings& settings, std::string_view name) {
    std::vector<std::string> result;
    for (const Setting& setting : settings.list(name)) result.push_back(setting.value);
    return result;
}

Result<RpcOptions> rpc_options(const Settings& settings, const NodeOptions& options) {
    RpcOptions rpc = options.rpc;
    rpc.server = settings.flag("server", true);
    rpc.port = static_cast<std::uint16_t>(settings.integer("rpcport", rpc.port));
    rpc.bind = values(settings, "rpcbind");
    rpc.allow_ip = values(settings, "rpcallowip");
    rpc.user = settings.text("rpcuser");
    rpc.password = settings.text("rpcpassword");
    rpc.auth = values(settings, "rpcauth");
    std::erase(rpc.auth, "");  // as bitcoind
    if (const auto file = settings.text("rpccookiefile"))
        rpc.cookie_file = user_path(*file, options.chain_dir);
    rpc.cookie_perms = settings.text("rpccookieperms").value_or(rpc.cookie_perms);
    if (rpc.cookie_perms != "owner" && rpc.cookie_perms != "group" && rpc.cookie_perms != "all") {
        return fail(Errc::invalid_argument,
                    fmt::format("Invalid -rpccookieperms={}; must be one of 'owner', 'group', or 'all'.",
                                rpc.cookie_perms));
    }
    rpc.threads = static_cast<std::size_t>(settings.integer("rpcthreads", 4));
    rpc.timeout = std::chrono::seconds(settings.integer("rpcservertimeout", 30));
    rpc.head_timeout = std::chrono::seconds(settings.integer("rpcheadtimeout", 10));
    rpc.max_connections = static_cast<std::size_t>(settings.integer("rpcconnections", 4096));
    const auto mebibytes = [&](const char* name, std::int64_t fallback) {
        return static_cast<std::size_t>(settings.integer(name, fallback)) * kMiB;
    };
    rpc.max_request = mebibytes("rpcmaxrequest", 32);
    rpc.request_buffer = mebibytes("rpcrequestbuffer", 128);
    rpc.reply_buffer = mebibytes("rpcbuffer", 256);
    rpc.rest = settings.flag("rest", false);
    rpc.whitelist = values(settings, "rpcwhitelist");
    rpc.whitelist_default = settings.flag("rpcwhitelistdefault", !rpc.whitelist.empty());
    rpc.allow_hosts = values(settings, "rpcallowhost");
    rpc.cors_origins = values(settings, "corsorigin");
    rpc.upstream = settings.text("upstreamrpc").value_or("");
    rpc.upstream_timeout = std::chrono::seconds(settings.integer("upstreamtimeout", 30));
    const fs::path node_dir = user_path("~/.bitcoin", "") / options.params->directory;
    rpc.upstream_cookie = user_path(settings.text("upstreamcookiefile").value_or(".cookie"), node_dir);
    return rpc;
}

void size_options(const Settings& settings, NodeOptions& options) {
    const auto mebibytes = [&](std::string_view name, std::uint64_t bytes) {
        return static_cast<std::uint64_t>(settings.integer(name, static_cast<std::int64_t>(bytes / kMiB))) *
               kMiB;
    };
    options.waiting_limit = mebibytes("maxwaitingblocks", options.waiting_limit);
    if (settings.flag("fastprune", false)) options.segment_bytes = kSmallestSegment;
    options.segment_bytes = mebibytes("segmentsize", options.segment_bytes);
    options.map_bytes = mebibytes("mapsize", options.map_bytes);
    options.min_free_disk = mebibytes("minfreedisk", options.min_free_disk);
    options.coin_bytes = mebibytes("dbcache", options.coin_bytes);
    options.tx_index = settings.flag("txindex", false);
    options.block_cache_bytes = mebibytes("blockcache", options.block_cache_bytes);
    options.event_memory = mebibytes("eventmemory", options.event_memory);
    options.open_segments = static_cast<std::size_t>(
        settings.integer("opensegments", static_cast<std::int64_t>(options.open_segments)));
}

/// Core's checks, in its words.
Result<PruneOptions> prune_options(const Settings& settings, const NodeOptions& options) {
    constexpr std::int64_t kSmallestTarget = 550;
    PruneOptions prune;
    prune.after_height = settings.flag("fastprune", false) ? 100 : options.params->prune_after_height;
    const std::int64_t target = settings.integer("prune", 0);
    if (target == 0) return prune;
    if (options.tx_index) return fail(Errc::invalid_argument, "Prune mode is incompatible with -txindex.");
    if (target < 0) return fail(Errc::invalid_argument, "Prune cannot be configured with a negative value.");
    prune.mode = target == 1 ? PruneOptions::Mode::manual : PruneOptions::Mode::automatic;
    if (target == 1) return prune;
    if (target < kSmallestTarget) {
        return fail(Errc::invalid_argument,
                    fmt::format("Prune configured below the minimum of {} MiB.  Please use a higher number.",
                                kSmallestTarget));
    }
    prune.target_bytes = static_cast<std::uint64_t>(target) * kMiB;
    return prune;
}

/// -startat, and what does not go with it.
Result<bool> starts_at_tip(const Settings& settings, const NodeOptions& options) {
    const std::string where = settings.text("startat").value_or("genesis");
    if (where == "genesis") return false;
    if (where != "tip")
        return fail(Errc::invalid_argument, fmt::format("-startat={}: there are genesis and tip.", where));
    if (options.tx_index)
        return fail(Errc::invalid_argument,
                    "-txindex needs every block, and -startat=tip fetches the newest only: "
                    "leave one of them out.");
    if (options.sources.any())
        return fail(Errc::invalid_argument,
                    "-importblocks and -loadblock bring blocks from genesis on, and "
                    "-startat=tip begins at the tip: leave one of them out.");
    if (settings.list("connect").empty() && settings.list("addnode").empty())
        return fail(Errc::invalid_argument, "-startat=tip fetches blocks from a node: give -connect=<node>.");
    return true;
}

std::vector<std::string> given_lines(const Settings& settings, std::string_view network) {
    std::vector<std::string> lines;
    const auto place = [&](SettingSource source) -> std::string {
        if (source == SettingSource::command_line) return "Command-line arg: ";
        if (source == SettingSource::own_section) return "Config file arg: [blockpub] ";
        if (source == SettingSource::network_section) return fmt::format("Config file arg: [{}] ", network);
        return "Config file arg: ";
    };
    settings.for_each([&](SettingSource source, const std::string& name, const Setting& setting) {
        const OptionSpec* option = find_option(name);
        const bool hidden = (option != nullptr && option->secret) || name.ends_with("password");
        const std::string value = setting.negated ? "false"
                                  : hidden        ? "****"
                                                  : fmt::format("\"{}\"", setting.value);
        lines.push_back(fmt::format("{}{}={}", place(source), name, value));
    });
    return lines;
}

}  // namespace

NodeOptions default_options(const ChainParams& params, const fs::path& datadir) {
    NodeOptions options;
    options.params = &params;
    options.datadir = datadir;
    options.chain_dir = params.directory.empty() ? datadir : datadir / params.directory;
    options.pid_file = options.chain_dir / "blockpubd.pid";
    options.rpc.port = params.rpc_port;
    options.rpc.cookie_file = options.chain_dir / ".cookie";
    options.minimum_chainwork = params.minimum_chainwork;
    return options;
}

Result<NodeOptions> read_options(const Settings& command_line) {
    auto files = read_setting_files(command_line);
    if (!files) return forward_error(files);
    const Settings& settings = files->settings;
    if (auto valid = settings.validate(); !valid) return forward_error(valid);
    const auto chain = chosen_chain(settings);
    if (!chain) return std::unexpected(chain.error());
    if (auto possible = refuse_what_is_not_there(settings, *chain); !possible) return forward_error(possible);
    const ChainParams& params = chain_params(*chain);
    const auto datadir = base_directory(settings);
    if (!datadir) return std::unexpected(datadir.error());

    NodeOptions options = default_options(params, *datadir);
    options.config_file = std::move(files->config_file);
    options.datadir_given = settings.text("datadir").has_value();
    if (const auto pid = settings.text("pid")) options.pid_file = user_path(*pid, options.chain_dir);
    options.daemon_wait = settings.flag("daemonwait", false);
    options.daemonize = options.daemon_wait || settings.flag("daemon", false);
    options.commands = {settings.text("blocknotify").value_or(""),
                        settings.text("startupnotify").value_or(""),
                        settings.text("shutdownnotify").value_or("")};
    if (auto done = chain_options(settings, options); !done) return forward_error(done);
    size_options(settings, options);
    auto prune = prune_options(settings, options);
    if (!prune) return forward_error(prune);
    options.prune = *prune;
    options.warnings = std::move(files->warnings);
    auto log = log_options(settings, options.chain_dir, options.warnings);
    if (!log) return forward_error(log);
    options.log = std::move(*log);
    auto sources = source_options(settings, params);
    if (!sources) return forward_error(sources);
    options.sources = std::move(*sources);
    const auto at_tip = starts_at_tip(settings, options);
    if (!at_tip) return std::unexpected(at_tip.error());
    options.start_at_tip = *at_tip;
    const bool node_file = fs::path(options.config_file).filename() == "bitcoin.conf";
    auto listen = read_listen_settings(settings, params, node_file, options.warnings);
    if (!listen) return forward_error(listen);
    options.listen = std::move(*listen);
    auto mempool = read_mempool_settings(settings, params);
    if (!mempool) return forward_error(mempool);
    options.mempool = *mempool;
    auto rpc = rpc_options(settings, options);
    if (!rpc) return forward_error(rpc);
    options.rpc = std::move(*rpc);
    for (const OptionSpec& option : option_table()) {
        if (option.group != OptionGroup::zmq) continue;
        const auto single = settings.text(option.name);
        if (option.kind == OptionKind::integer && single)
            options.zmq.push_back({std::string(option.name), *single});
        if (option.kind != OptionKind::list) continue;
        for (auto& value : values(settings, option.name))
            options.zmq.push_back({std::string(option.name), value});
    }
    options.warnings.insert(options.warnings.end(), settings.warnings().begin(), settings.warnings().end());
    warn_of_no_effect(settings, params.name, options.warnings);
    options.given = given_lines(settings, params.name);
    return options;
}

}  // namespace blockpub
