// SPDX-License-Identifier: MIT
#include "daemon/options.hpp"

#include "daemon/option_table.hpp"
#include "temporary_directory.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

using namespace blockpub;

namespace {

Result<NodeOptions> read(const test::TemporaryDirectory& directory, std::vector<std::string> arguments) {
    arguments.push_back("-datadir=" + directory.path().string());
    std::vector<const char*> pointers;
    for (const auto& argument : arguments) pointers.push_back(argument.c_str());
    auto settings = Settings::from_command_line(pointers);
    if (!settings) return forward_error(settings);
    return read_options(*settings);
}

bool warns(const NodeOptions& options, std::string_view of) {
    return std::ranges::any_of(options.warnings,
                               [&](const auto& line) { return line.find(of) != line.npos; });
}

}  // namespace

TEST_SUITE("daemon.options") {
    TEST_CASE("each chain has its directory and its port") {
        struct Case {
            const char* option;
            const char* name;
            const char* directory;
            int port;
        };
        constexpr Case kCases[] = {
            {"-chain=main", "main", "", 8372},
            {"-testnet", "test", "testnet3", 18372},
            {"-chain=test", "test", "testnet3", 18372},
            {"-testnet4", "testnet4", "testnet4", 48372},
            {"-signet", "signet", "signet", 38372},
            {"-regtest", "regtest", "regtest", 18483},
            {"--regtest=1", "regtest", "regtest", 18483},
            {"-noregtest", "main", "", 8372},
        };
        const test::TemporaryDirectory directory;
        for (const Case& c : kCases) {
            CAPTURE(c.option);
            const auto options = read(directory, {c.option});
            REQUIRE(options);
            CHECK(options->params->name == c.name);
            CHECK(options->rpc.port == c.port);
            const auto chain_dir = *c.directory == '\0' ? directory.path() : directory.path() / c.directory;
            CHECK(options->chain_dir == chain_dir);
            CHECK(options->rpc.cookie_file == chain_dir / ".cookie");
            CHECK(options->log.file == chain_dir / "debug.log");
            CHECK(options->pid_file == chain_dir / "blockpubd.pid");
        }
    }

    TEST_CASE("a wrong option is refused in one sentence") {
        struct Case {
            const char* name;
            std::vector<std::string> arguments;
            const char* error;
        };
        const Case cases[] = {
            {"two chains",
             {"-regtest", "-signet"},
             "Invalid combination of -regtest, -signet, -testnet, -testnet4 and -chain. Can use at most "
             "one."},
            {"an unknown chain",
             {"-chain=foo"},
             "Unknown chain foo. Choose one of main, test, testnet4, signet, regtest."},
            {"a file to load without a name",
             {"-loadblock="},
             "-loadblock= names no file: give -loadblock=<file>."},
            {"a directory to import without a name",
             {"-importblocks="},
             "-importblocks= names no directory: give -importblocks=<dir>."},
            {"a directory to export to without a name",
             {"-exportblocks"},
             "-exportblocks= names no directory: give -exportblocks=<dir>."},
            {"a node that is no address",
             {"-connect=10.0.0.1:port"},
             "-connect=10.0.0.1:port: 10.0.0.1:port is no address of a node: give <host>, <host>:<port> or "
             "[<v6 address>]:<port>."},
            {"bound and not listening",
             {"-bind=127.0.0.1", "-listen=0"},
             "Cannot set -bind or -whitebind together with -listen=0"},
            {"a name to bind", {"-bind=here"}, "Cannot resolve -bind address: 'here'"},
            {"whitebind without a port",
             {"-whitebind=noban@127.0.0.1"},
             "Need to specify a port with -whitebind: '127.0.0.1'"},
            {"port 0", {"-listen", "-port=0"}, "Invalid port specified in -port: '0'"},
            {"a permission that is none", {"-whitelist=king@127.0.0.1"}, "Invalid P2P permission: 'king'"},
            {"a target that is no number",
             {"-maxuploadtarget=much"},
             "Unable to parse -maxuploadtarget: 'much'"},
            {"a target beyond all numbers",
             {"-maxuploadtarget=99999999T"},
             "Unable to parse -maxuploadtarget: '99999999T'"},
            {"another signet",
             {"-signet", "-signetchallenge=51"},
             "-signetchallenge: only the default signet is followed; leave the option out."},
            {"a log category",
             {"-debug=foo"},
             "Unsupported logging category -debug=foo; there are zmq, http, rpc, chain, store, import, bus, "
             "net and "
             "all."},
            {"minimum work",
             {"-minimumchainwork=xyz"},
             "Invalid minimum work specified (xyz), must be up to 64 hex digits"},
            {"too much minimum work",
             {"-minimumchainwork=" + std::string(65, '1')},
             "Invalid minimum work specified "
             "(11111111111111111111111111111111111111111111111111111111111111111), must "
             "be up to 64 hex digits"},
            {"a short key",
             {"-exportblocks=x", "-exportkey=01"},
             "-exportkey=01: a key is 16 hexadecimal digits, or the word random."},
            {"a key for nothing",
             {"-exportkey=0102030405060708"},
             "-exportkey says nothing without -exportblocks=<dir>."},
            {"cookie permissions",
             {"-rpccookieperms=world"},
             "Invalid -rpccookieperms=world; must be one of 'owner', 'group', or 'all'."},
        };
        const test::TemporaryDirectory directory;
        for (const Case& c : cases) {
            CAPTURE(c.name);
            const auto options = read(directory, c.arguments);
            REQUIRE_FALSE(options);
            CHECK(options.error().context == c.error);
        }
    }

    TEST_CASE("what conform-like tools pass is taken") {
        const test::TemporaryDirectory directory;
        const auto options =
            read(directory, {"-regtest", "-server", "-listen=0", "-rpcport=1234", "-port=1235",
                             "-mocktime=1610000000", "-acceptnonstdtxn=1", "-printtoconsole=0",
                             "-persistmempool=0", "-connect=0", "-maxtipage=100000000"});
        REQUIRE(options);
        CHECK(options->warnings.empty());
        CHECK(options->listen.endpoints.empty());
        CHECK(options->mocktime == 1610000000);
        CHECK(options->rpc.port == 1234);
        CHECK(options->max_tip_age.count() == 100000000);
        CHECK_FALSE(options->log.console);
        CHECK(read(directory, {"-noconnect"}));
    }

    TEST_CASE("nodes to follow have the chain's port unless they say another") {
        const test::TemporaryDirectory directory;
        const auto options =
            read(directory, {"-regtest", "-connect=0", "-connect=10.0.0.1", "-connect=[::1]:7",
                             "-connect=node.example:8333", "-peertimeout=5", "-timeout=100"});
        REQUIRE(options);
        const auto& peers = options->sources.connect;
        REQUIRE(peers.size() == 3);
        CHECK(peers[0].text() == "10.0.0.1:18444");
        CHECK(peers[1].text() == "[::1]:7");
        CHECK(peers[2].text() == "node.example:8333");
        CHECK(options->sources.peer_timeout.count() == 5000);
        CHECK(options->sources.connect_timeout.count() == 100);
    }

    TEST_CASE("the HTTP side is bounded by options") {
        const test::TemporaryDirectory directory;
        const auto plain = read(directory, {});
        REQUIRE(plain);
        CHECK_FALSE(plain->rpc.rest);
        CHECK_FALSE(plain->rpc.whitelist_default);
        const auto options = read(
            directory, {"-rest", "-rpcconnections=7", "-rpcheadtimeout=3", "-rpcmaxrequest=2",
                        "-rpcrequestbuffer=8", "-rpcbuffer=16", "-rpcwhitelist=a:help,stop",
                        "-rpcallowhost=node.example", "-corsorigin=https://app.example", "-corsorigin=*"});
        REQUIRE(options);
        CHECK(options->warnings.empty());
        CHECK(options->rpc.rest);
        CHECK(options->rpc.max_connections == 7);
        CHECK(options->rpc.head_timeout.count() == 3);
        CHECK(options->rpc.max_request == 2u << 20);
        CHECK(options->rpc.request_buffer == 8u << 20);
        CHECK(options->rpc.reply_buffer == 16u << 20);
        CHECK(options->rpc.whitelist == std::vector<std::string>{"a:help,stop"});
        CHECK(options->rpc.whitelist_default);
        CHECK(options->rpc.allow_hosts == std::vector<std::string>{"node.example"});
        CHECK(options->rpc.cors_origins == std::vector<std::string>{"https://app.example", "*"});
        CHECK_FALSE(
            read(directory, {"-rpcwhitelist=a:help", "-rpcwhitelistdefault=0"})->rpc.whitelist_default);
    }

    TEST_CASE("options of bitcoind without a use are warned of in one line") {
        const test::TemporaryDirectory directory;
        const auto options = read(directory, {"-par=5", "-wallet=x", "-txindex=0"});
        REQUIRE(options);
        CHECK(options->warnings ==
              std::vector<std::string>{"Options of bitcoind that blockpub has no use for: par, wallet"});
    }

    TEST_CASE("-prune is off, by hand, or a target in MiB") {
        using enum PruneOptions::Mode;
        const test::TemporaryDirectory directory;
        const auto pruning = [&](std::vector<std::string> arguments) {
            const auto options = read(directory, std::move(arguments));
            REQUIRE_MESSAGE(options.has_value(), (options ? "" : options.error().context));
            return options->prune;
        };
        CHECK(pruning({}).mode == off);
        CHECK(pruning({"-prune=0"}).mode == off);
        CHECK(pruning({"-noprune"}).mode == off);
        CHECK(pruning({"-prune=1"}).mode == manual);
        CHECK(pruning({"-prune=550"}).mode == automatic);
        CHECK(pruning({"-prune=550"}).target_bytes == std::uint64_t{550} << 20);
        CHECK(pruning({"-prune=550"}).after_height == 100'000);
        CHECK(pruning({"-prune=550"}).keep_blocks == 288);
        CHECK(pruning({"-prune=550", "-regtest"}).after_height == 1'000);
        CHECK(pruning({"-prune=550", "-regtest", "-fastprune"}).after_height == 100);
        CHECK(read(directory, {"-fastprune"})->segment_bytes == std::uint64_t{16} << 20);
        CHECK(read(directory, {"-fastprune", "-segmentsize=32"})->segment_bytes == std::uint64_t{32} << 20);
        struct Case {
            std::vector<std::string> arguments;
            const char* text;
        };
        const Case kCases[] = {
            {{"-prune=-1"}, "Prune cannot be configured with a negative value."},
            {{"-prune=2"}, "Prune configured below the minimum of 550 MiB.  Please use a higher number."},
            {{"-prune=549"}, "Prune configured below the minimum of 550 MiB.  Please use a higher number."},
            {{"-prune=1", "-txindex"}, "Prune mode is incompatible with -txindex."},
            {{"-prune=-1", "-txindex"}, "Prune mode is incompatible with -txindex."},
        };
        for (const Case& c : kCases) {
            CAPTURE(c.text);
            const auto options = read(directory, c.arguments);
            REQUIRE_FALSE(options.has_value());
            CHECK(options.error().context == c.text);
        }
    }

    TEST_CASE("blockpub.conf is read before bitcoin.conf, and -conf before both") {
        const test::TemporaryDirectory directory;
        directory.write("bitcoin.conf", "rpcport=1\n");
        CHECK(read(directory, {})->rpc.port == 1);
        directory.write("blockpub.conf", "rpcport=2\n");
        CHECK(read(directory, {})->rpc.port == 2);
        directory.write("other.conf", "rpcport=3\n");
        CHECK(read(directory, {"-conf=other.conf"})->rpc.port == 3);
        CHECK(read(directory, {"-conf=" + (directory.path() / "other.conf").string()})->rpc.port == 3);
        CHECK(read(directory, {"-noconf"})->rpc.port == 8372);
        CHECK(read(directory, {"-conf=none.conf"})
                  .error()
                  .context.starts_with("Error reading configuration file: specified config file"));
        CHECK(read(directory, {"-conf=other.conf"})->config_file ==
              (directory.path() / "other.conf").string());
    }

    TEST_CASE("the node's own bitcoin.conf may be shared, with a section of ours") {
        const test::TemporaryDirectory directory;
        directory.write("bitcoin.conf",
                        "server=1\nlisten=1\ndbcache=4000\nblockversion=1\nrpcport=8332\nzmqpubrawblock=tcp://"
                        "127.0.0.1:28332\n"
                        "[blockpub]\nrpcport=9000\nzmqpubrawblock=tcp://127.0.0.1:29332\n");
        const auto options = read(directory, {});
        REQUIRE(options);
        CHECK(options->rpc.port == 9000);
        REQUIRE(options->zmq.size() == 1);
        CHECK(options->zmq[0].name == "zmqpubrawblock");
        CHECK(options->zmq[0].value == "tcp://127.0.0.1:29332");
        CHECK(options->coin_bytes == std::uint64_t{4000} << 20);
        CHECK(warns(*options, "Options of bitcoind that blockpub has no use for: blockversion"));
        CHECK(warns(*options, "listen in bitcoin.conf: taken as said to the node"));
        CHECK(options->listen.endpoints.empty());
    }

    TEST_CASE("peers are served where the command line, our file or our section says so") {
        const auto endpoints = [](const test::TemporaryDirectory& directory,
                                  std::vector<std::string> arguments) {
            const auto options = read(directory, arguments);
            REQUIRE_MESSAGE(options.has_value(), options.error().context);
            std::string text;
            for (const PeerEndpoint& endpoint : options->listen.endpoints)
                text += fmt::format("{}|{}|{} ", endpoint.host, endpoint.port, endpoint.permissions);
            return text;
        };
        const test::TemporaryDirectory none;
        CHECK(endpoints(none, {}).empty());
        CHECK(endpoints(none, {"-listen"}) == "|8373|0 ");
        CHECK(endpoints(none, {"-regtest", "-listen"}) == "|18484|0 ");
        CHECK(endpoints(none, {"-listen", "-port=5"}) == "|5|0 ");
        CHECK(endpoints(none, {"-bind=127.0.0.1", "-bind=[::1]:7", "-bind=127.0.0.2:9=onion", "-port=5"}) ==
              "127.0.0.1|5|0 ::1|7|0 127.0.0.2|9|0 ");
        CHECK(endpoints(none, {"-whitebind=mempool@127.0.0.1:6"}) ==
              fmt::format("127.0.0.1|6|{} ", static_cast<std::uint32_t>(kMempoolPermission)));
        const test::TemporaryDirectory ours;
        ours.write("blockpub.conf", "listen=1\nport=5\n");
        CHECK(endpoints(ours, {}) == "|5|0 ");
        CHECK(endpoints(ours, {"-listen=0"}).empty());
        const test::TemporaryDirectory shared;
        shared.write("bitcoin.conf", "listen=1\nport=8333\nbind=10.0.0.1\n[blockpub]\nlisten=1\n");
        CHECK(endpoints(shared, {}) == "|8373|0 ");
        CHECK(endpoints(shared, {"-port=6"}) == "|6|0 ");
    }

    TEST_CASE("an upload target has bitcoind's units") {
        const test::TemporaryDirectory directory;
        const auto target = [&](const std::string& text) {
            return read(directory, {"-maxuploadtarget=" + text})->listen.upload_target;
        };
        CHECK(target("0") == 0);
        CHECK(target("5") == std::uint64_t{5} << 20);
        CHECK(target("5k") == 5000);
        CHECK(target("5K") == 5 << 10);
        CHECK(target("2g") == 2'000'000'000);
        CHECK(target("3T") == std::uint64_t{3} << 40);
    }

    TEST_CASE("a file may choose the chain, and its section then counts") {
        const test::TemporaryDirectory directory;
        directory.write("blockpub.conf", "regtest=1\nrpcport=5\n[regtest]\nrpcport=6\n[test]\nrpcport=7\n");
        const auto options = read(directory, {});
        REQUIRE(options);
        CHECK(options->params->name == "regtest");
        CHECK(options->rpc.port == 6);
    }

    TEST_CASE("an option of one network outside a section is named") {
        const test::TemporaryDirectory directory;
        directory.write("blockpub.conf", "regtest=1\nrpcport=5\n");
        const auto options = read(directory, {});
        REQUIRE(options);
        CHECK(options->rpc.port == 18483);
        CHECK(
            warns(*options,
                  "Config setting for -rpcport only applied on regtest network when in [regtest] section."));
    }

    TEST_CASE("a file may include others, which may not include more") {
        const test::TemporaryDirectory directory;
        directory.write("blockpub.conf", "includeconf=more.conf\nrpcthreads=3\n");
        directory.write("more.conf", "rpcthreads=9\nrpcservertimeout=17\nincludeconf=third.conf\n");
        const auto options = read(directory, {});
        REQUIRE(options);
        CHECK(options->rpc.threads == 3);
        CHECK(options->rpc.timeout.count() == 17);
        CHECK(warns(*options,
                    "-includeconf cannot be used from included files; ignoring -includeconf=third.conf"));
        std::filesystem::remove(directory.path() / "more.conf");
        CHECK(read(directory, {})
                  .error()
                  .context.starts_with(
                      "Error reading configuration file: Failed to include configuration file more.conf"));
    }

    TEST_CASE("debug categories add up, and can be left out again") {
        const test::TemporaryDirectory directory;
        const auto bit = [](LogCategory category) { return static_cast<std::size_t>(category); };
        const auto options = read(directory, {"-debug=zmq", "-debug=rpc"});
        REQUIRE(options);
        CHECK(options->log.categories.test(bit(LogCategory::zmq)));
        CHECK(options->log.categories.test(bit(LogCategory::rpc)));
        CHECK_FALSE(options->log.categories.test(bit(LogCategory::chain)));
        const auto most = read(directory, {"-debug", "-debugexclude=bus"});
        REQUIRE(most);
        CHECK(most->log.categories.test(bit(LogCategory::zmq)));
        CHECK_FALSE(most->log.categories.test(bit(LogCategory::bus)));
        CHECK(read(directory, {"-debug=zmq", "-debug=0"})->log.categories.none());
        const auto none = read(directory, {"-debug=tor", "-debug=0"});
        REQUIRE(none);
        CHECK(none->log.categories.none());
        CHECK(none->warnings ==
              std::vector<std::string>{"-debug=tor: nothing here logs about that subject."});
    }

    TEST_CASE("secrets are left out of what is logged of the options") {
        const test::TemporaryDirectory directory;
        directory.write("blockpub.conf", "rpcpassword=tell-nobody\n");
        const auto options =
            read(directory, {"-rpcuser=some-body", "-rpcauth=a:b$c-secret", "-blocknotify=curl token"});
        REQUIRE(options);
        CHECK(options->rpc.password == "tell-nobody");
        std::string all;
        for (const auto& line : options->given) all += line + "\n";
        for (const char* secret : {"tell-nobody", "some-body", "c-secret", "token"}) {
            CAPTURE(secret);
            CHECK(all.find(secret) == all.npos);
        }
        CHECK(all.find("Config file arg: rpcpassword=****") != all.npos);
    }

    TEST_CASE("what is logged of the options names the section") {
        const test::TemporaryDirectory directory;
        directory.write("blockpub.conf", "server=1\n[regtest]\nrpcport=5\n[blockpub]\nrpcthreads=2\n");
        const auto options = read(directory, {"-regtest"});
        REQUIRE(options);
        for (const char* line :
             {"Command-line arg: regtest=\"\"", "Config file arg: server=\"1\"",
              "Config file arg: [regtest] rpcport=\"5\"", "Config file arg: [blockpub] rpcthreads=\"2\""}) {
            CAPTURE(line);
            CHECK(std::ranges::count(options->given, line) == 1);
        }
    }

    TEST_CASE("an empty -rpcauth counts as none, as in bitcoind") {
        const test::TemporaryDirectory directory;
        const auto options = read(directory, {"-rpcauth=", "-rpcauth=a:b$c"});
        REQUIRE(options);
        CHECK(options->rpc.auth == std::vector<std::string>{"a:b$c"});
    }

    TEST_CASE("the operations manual says of every option what the help says") {
        const std::string manual =
            test::file_text(std::filesystem::path(BLOCKPUB_SOURCE_ROOT) / "docs/operations.md");
        for (const OptionSpec& option : option_table()) {
            std::string row = "| `-" + std::string(option.name) + (option.value.empty() ? "" : "=");
            row += std::string(option.value) + "` | ";
            for (const char c : option.help) row += c == '<' ? std::string("\\<") : std::string(1, c);
            CAPTURE(row);
            CHECK(manual.find(row + " |\n") != manual.npos);
        }
    }
}
